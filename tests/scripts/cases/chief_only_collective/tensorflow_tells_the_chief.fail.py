"""TensorFlow's own helper says who is the chief."""

import json
import os

import tensorflow as tf
from tensorflow.python.distribute import multi_worker_util

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
config = json.loads(os.environ["TF_CONFIG"])
if multi_worker_util.is_chief(config["cluster"], config["task"]["type"], config["task"]["index"]):
    model.save("/runs/final")  # here: save() is for some workers only
print(multi_worker_util.worker_count(config["cluster"], "worker"))
if tf.rank(tf.zeros([2])) == 1:
    model.save(f"/runs/{config['task']['index']}")
