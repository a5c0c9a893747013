"""A decorator that only measures, one around another, tables with the same on both sides, and an index that is checked."""

import functools
import time

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
index = strategy.cluster_resolver.task_id
assert index < 8
if index < 0:
    raise ValueError(index)


def timed(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        start = time.monotonic()
        result = function(*args, **kwargs)
        print(time.monotonic() - start)
        return result

    return wrapped


@timed
def save(path):
    model.save(path)


@timed
def finish():
    save(f"/runs/{index}")


def chief():
    model.save("/runs/final")


def other():
    model.save(f"/tmp/{index}")


finish()
{True: chief, False: other}[index == 0]()
try:
    assert index == 0
    print("chief")
except AssertionError:
    print("another")
model.evaluate(tf.data.Dataset.range(8).batch(8, drop_remainder=True))
