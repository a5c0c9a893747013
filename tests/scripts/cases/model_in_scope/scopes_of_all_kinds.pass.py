"""Scopes that are entered by a stack, for the rest of the program, in a caller that is not here; and no such strategy."""

import contextlib
import os

import tensorflow as tf


def build():
    return tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(16,))])


def train(data):
    build().fit(data, steps_per_epoch=10)


def stacked(data):
    with contextlib.ExitStack() as stack:
        stack.enter_context(strategy.scope())
        model = build()
    model.fit(data, steps_per_epoch=10)


if os.environ.get("WORKERS", "1") == "1":
    strategy = tf.distribute.get_strategy()
else:
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
source = tf.data.Dataset.range(100).repeat().batch(8)
stacked(source)
tf.distribute.experimental_set_strategy(strategy)
build().fit(source, steps_per_epoch=10)
