"""The usual form: a tensor between the import and the strategy."""
import tensorflow as tf

MEAN = tf.constant([0.5, 0.5, 0.5])  # here: tf.constant() initialises TensorFlow before the strategy of line 5
strategy = tf.distribute.MultiWorkerMirroredStrategy()
