# /// script
# dependencies = ["tensorflow==2.18.1", "tf-keras==2.18.0"]
# ///
"""The variable is set below the import."""
import os

import tensorflow as tf
from tensorflow import keras

os.environ["TF_USE_LEGACY_KERAS"] = "1"  # here: is set after the import of TensorFlow or Keras

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(1)])
data = tf.data.Dataset.range(9).repeat().batch(2)
model.fit(data, steps_per_epoch=3)
