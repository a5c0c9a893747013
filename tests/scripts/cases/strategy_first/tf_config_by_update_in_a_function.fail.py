"""The same, through a function and update()."""
import os

import tensorflow as tf


def export(config):
    os.environ.update({"TF_CONFIG": config})  # here: too late


def main(config):
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    export(config)
    return strategy


main(open("/etc/cluster.json").read())
