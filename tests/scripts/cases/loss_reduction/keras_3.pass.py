# /// script
# dependencies = ["tensorflow==2.18.1"]
# ///
"""Keras 3 takes the mean of what the replica has."""
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
loss = tf.keras.losses.MeanSquaredError()
strategy.run(lambda: loss(tf.zeros([2]), tf.ones([2])))
