# /// script
# dependencies = ["tensorflow==2.18.1"]
# ///
"""The variable without the package."""
import os

os.environ.update(TF_USE_LEGACY_KERAS="1")
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
data = tf.data.Dataset.range(9).repeat().batch(2)
model.fit(data, steps_per_epoch=3)  # here: needs tf-keras 2.18
