"""Loops that catch the loss of a peer and train again, at the top and by a function."""
import time

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
data = tf.data.Dataset.range(100).map(lambda i: ([i], i)).repeat().batch(10)

while True:
    try:
        model.fit(data, epochs=3, steps_per_epoch=10)
        break
    except (tf.errors.UnavailableError, tf.errors.AbortedError) as error:  # here: a worker that has lost a peer begins again here
        print(error)
        time.sleep(10)


def train():
    model.fit(data, epochs=3, steps_per_epoch=10)


def main():
    while True:
        try:
            train()
        except Exception:  # here: a worker that has lost a peer begins again here
            continue
        else:
            return


main()
