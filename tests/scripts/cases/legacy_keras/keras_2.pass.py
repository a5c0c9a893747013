# /// script
# dependencies = ["tensorflow==2.15.1"]
# ///
"""TensorFlow 2.15 has Keras 2."""
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
data = tf.data.Dataset.range(9).repeat().batch(2)
model.fit(data, steps_per_epoch=3)
