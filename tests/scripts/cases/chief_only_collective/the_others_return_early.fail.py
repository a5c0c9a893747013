"""No else, but a return."""
import os

import tensorflow as tf


def main():
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        model = tf.keras.applications.ResNet50(weights=None)
    if os.environ["JOB_COMPLETION_INDEX"] != "0":
        return
    model.save_weights("/runs/weights")  # here: save_weights() is for some workers only (not if


main()
