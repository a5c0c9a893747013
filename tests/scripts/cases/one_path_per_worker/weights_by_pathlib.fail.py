"""pathlib, a subclass and an f-string."""
from pathlib import Path

import tensorflow as tf


class Net(tf.keras.Model):
    def call(self, inputs):
        return inputs


def finish(model, folder, name):
    folder.mkdir(parents=True, exist_ok=True)
    model.save_weights(str(folder / f"{name}.weights.h5"))  # here: save_weights() is given one path


strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    net = Net()
finish(net, Path("/mnt/shared") / "run1", "last")
