"""Numbers of workers, options and versions are no ranks."""
import argparse
import json
import os

import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--evaluate", action="store_true")
args = parser.parse_args()
config = json.loads(os.environ.get("TF_CONFIG", "{}"))
workers = config.get("cluster", {}).get("worker", [])
num_workers = len(workers)
strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
data = tf.data.Dataset.range(9).repeat().batch(2)
if num_workers > 1:
    model.fit(data, steps_per_epoch=3)
if config:
    model.fit(data, steps_per_epoch=3)
if args.evaluate and strategy.num_replicas_in_sync > 1:
    model.evaluate(data, steps=3)
for step in range(3):
    if step == 2:
        model.predict(data, steps=1)
