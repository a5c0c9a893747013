"""The usual form."""
import json
import os

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
task_index = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
if task_index == 0:
    model.save("/mnt/shared/run1/final")  # here: save() is for some workers only (if task_index == 0)
