"""What was set before the strategy may be set once more: TensorFlow sees no change in it."""

import tensorflow as tf


def grow():
    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)


grow()
strategy = tf.distribute.MultiWorkerMirroredStrategy()
grow()
tf.config.set_soft_device_placement(True)
