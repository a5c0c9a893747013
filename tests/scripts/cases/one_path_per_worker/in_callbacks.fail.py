"""Callbacks that save on every worker: a directory of their own object, and the number of the epoch."""
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()


class Saver(tf.keras.callbacks.Callback):
    def __init__(self, directory):
        super().__init__()
        self.directory = directory

    def on_epoch_end(self, epoch, logs=None):
        self.model.save_weights(f"{self.directory}/epoch-{epoch:03d}")  # here: save_weights() is given one path on all workers


class Finisher(Saver):
    def on_train_end(self, logs=None):
        self.model.save(self.directory)  # here: save() is given one path on all workers


with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
data = tf.data.Dataset.range(100).map(lambda i: ([i], i)).repeat().batch(10)
each = tf.keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: model.save(f"/runs/{epoch}"))  # here: save() is given one path
model.fit(data, steps_per_epoch=10, callbacks=[each, Finisher("/runs/here")])
