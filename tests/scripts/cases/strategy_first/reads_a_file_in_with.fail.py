"""A file that is decoded, in a function that main calls first."""
from absl import app
import tensorflow as tf


def read(path):
    with tf.io.gfile.GFile(path, "rb") as raw:
        return tf.io.decode_raw(raw.read(), tf.uint8)  # here: tf.io.decode_raw()


def main(_):
    images = read("/data/images.bin")
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        print(images.shape)


app.run(main)
