"""A decorator of the script's own decides like an if in the function."""

import functools

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])


def only_chief(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        if strategy.cluster_resolver.task_id == 0:
            return function(*args, **kwargs)
        return None

    return wrapped


@only_chief
def save(trained):
    trained.save("/runs/decorated")  # here: save() is for some workers only (if strategy.cluster_resolver


class Job:
    @only_chief
    def finish(self):
        model.evaluate(tf.data.Dataset.range(8).repeat(), steps=1)  # here: evaluate() is for some workers only


save(model)
Job().finish()
