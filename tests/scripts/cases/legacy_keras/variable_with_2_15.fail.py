# /// script
# dependencies = ["tensorflow==2.15.1"]
# ///
"""TensorFlow 2.15 knows the variable, and then wants the package."""
import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"  # here: with TensorFlow 2.15.1 and without tf-keras
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
