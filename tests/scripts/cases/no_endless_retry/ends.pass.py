"""Losses that end the worker, attempts that end, loops about something else."""
import sys
import time

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
data = tf.data.Dataset.range(100).map(lambda i: ([i], i)).repeat().batch(10)

while True:
    try:
        names = tf.io.gfile.listdir("/data")
        break
    except tf.errors.OpError:
        time.sleep(1)


def give_up(error):
    print(error)
    sys.exit(3)


while True:
    try:
        model.fit(data, steps_per_epoch=10)
        break
    except Exception as error:
        give_up(error)
for _ in range(3):
    try:
        model.fit(data, steps_per_epoch=10)
        break
    except tf.errors.UnavailableError as error:
        print(error)
while True:
    try:
        model.fit(data, steps_per_epoch=10)
        break
    except tf.errors.UnavailableError:
        sys.exit(3)
while True:
    try:
        model.fit(data, steps_per_epoch=10)
    except tf.errors.UnavailableError as error:
        print(error)
    break
while True:
    try:
        model.fit(data, steps_per_epoch=10)
        break
    except ValueError:
        data = data.skip(1)
