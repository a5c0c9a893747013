"""A subclass of Model, made by a function that is given the strategy."""
import tensorflow as tf


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1)

    def call(self, inputs):
        return self.dense(inputs)


def build(strategy):
    with strategy.scope():
        net = Net()
        net.compile("sgd", "mse")
    return net


strategy = tf.distribute.MultiWorkerMirroredStrategy()
zipped = tf.data.Dataset.zip((tf.data.Dataset.range(9), tf.data.Dataset.range(9))).batch(2)
build(strategy).fit(zipped)  # here: fit() without steps_per_epoch
