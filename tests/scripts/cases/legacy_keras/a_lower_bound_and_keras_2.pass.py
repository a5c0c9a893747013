# /// script
# dependencies = ["tensorflow>=2.17", "tf-keras>=2.17"]
# ///
import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
data = tf.data.Dataset.from_tensors(([[0.0]], [[0.0]])).repeat()
model.fit(data, steps_per_epoch=10)
