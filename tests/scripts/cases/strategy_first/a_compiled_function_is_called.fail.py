"""Calling a tf.function runs operations, whatever stands in it; making one does not."""

import tensorflow as tf


@tf.function
def double(x):
    return x * 2


@tf.function(jit_compile=True)
def triple(x):
    return x * 3


quadruple = tf.function(lambda x: x * 4)
double(1)  # here: the call of a tf.function
triple(1)  # here: the call of a tf.function
quadruple(1)  # here: the call of a tf.function
strategy = tf.distribute.MultiWorkerMirroredStrategy()
