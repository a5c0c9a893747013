"""The decision is the same in all workers, and so is the path."""
import os

import tensorflow as tf


def main():
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    path = "/runs/final" if os.environ.get("FORMAT") == "tf" else "/runs/final.keras"
    if os.environ.get("SAVE", "1") == "1":
        model.save(path)  # here: save() is given one path


if __name__ == "__main__":
    main()
