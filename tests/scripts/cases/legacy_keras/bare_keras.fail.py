# /// script
# dependencies = ["tensorflow==2.18.1", "tf-keras==2.18.0", "keras"]
# ///
"""`import keras` is Keras 3, whatever the variable says."""
import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import keras
import tensorflow as tf
from keras import layers

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = keras.Sequential([layers.Dense(1)])
data = tf.data.Dataset.range(9).repeat().batch(2)
model.fit(data, steps_per_epoch=3)  # here: with `import keras`
