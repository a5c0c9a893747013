"""What is compiled before the strategy may be called after it, and what is called before it may be plain."""

import tensorflow as tf


@tf.function
def double(x):
    return x * 2


def triple(x):
    return x * 3


triple(1)
strategy = tf.distribute.MultiWorkerMirroredStrategy()
double(1)
tf.function(triple)(1)
