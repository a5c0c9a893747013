"""The usual tutorial."""
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
(x, y), test = tf.keras.datasets.cifar10.load_data()  # here: cifar10.load_data() downloads data
