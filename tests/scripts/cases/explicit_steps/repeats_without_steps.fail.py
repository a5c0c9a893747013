"""Keras refuses an endless data set without a number of steps."""
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
dataset = tf.data.Dataset.range(10).repeat(-1).batch(2)
model.fit(dataset, epochs=3)  # here: repeats without end
