"""Another way to write it."""
import tensorflow as tf
from tensorflow.keras.datasets import mnist


def load():
    train, _ = mnist.load_data(path="mnist.npz")  # here: mnist.load_data()
    return train


strategy = tf.distribute.MultiWorkerMirroredStrategy()
load()
