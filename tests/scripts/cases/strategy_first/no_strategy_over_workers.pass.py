"""MirroredStrategy takes any order."""
import tensorflow as tf

MEAN = tf.constant([0.5])
strategy = tf.distribute.MirroredStrategy()
# MultiWorkerMirroredStrategy is only named here
