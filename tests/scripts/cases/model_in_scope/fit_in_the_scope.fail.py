"""Only fit stands in the scope: the variables are of no strategy, and it refuses them."""

import tensorflow as tf


def main():
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(16,))])
    inputs = tf.keras.Input((16,))
    other = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(inputs))
    data = tf.data.Dataset.range(100).repeat().batch(8)
    with strategy.scope():
        model.compile("sgd", "mse")
        model.fit(data, steps_per_epoch=10)  # here: it is refused
        other.fit(data, steps_per_epoch=10)  # here: it is refused


main()
