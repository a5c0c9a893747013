# /// script
# dependencies = ["tensorflow==2.18.1", "tf-keras==2.18.0"]
# ///
"""tf-keras is there, and nothing makes use of it."""
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()


class Net(tf.keras.Model):
    def call(self, inputs):
        return inputs


with strategy.scope():
    net = Net()
data = tf.data.Dataset.range(9).repeat().batch(2)
net.evaluate(data, steps=3)  # here: evaluate() under MultiWorkerMirroredStrategy: tf-keras is there, but nothing sets
