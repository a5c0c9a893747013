"""The strategy is made and never used: each worker trains alone, and nothing says so."""

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
data = tf.data.Dataset.range(100).repeat().batch(8 * strategy.num_replicas_in_sync)


def build():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


build().fit(data, steps_per_epoch=10)  # here: outside of the scope of the strategy of line 5: each worker trains alone
