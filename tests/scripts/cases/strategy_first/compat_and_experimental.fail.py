"""The names of older versions."""
import tensorflow.compat.v2 as tf

distribute = tf.distribute
noise = tf.random.normal([8])  # here: tf.random.normal()
strategy = distribute.experimental.MultiWorkerMirroredStrategy()
