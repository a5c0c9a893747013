# /// script
# dependencies = ["tensorflow-cpu==2.19.*", "tf_keras==2.19.0"]
# ///
"""0 is not 1."""
import os

os.environ.setdefault("TF_USE_LEGACY_KERAS", "0")  # here: TF_USE_LEGACY_KERAS is not set to 1

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
data = tf.data.Dataset.range(9).repeat().batch(2)
model.fit(data, steps_per_epoch=3)
