"""What is saved without the strategy is one process's own: an export by a subcommand, a run of one worker."""
import argparse
import os

import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("action", choices=["train", "export"])
action = parser.parse_args().action


def export():
    model = tf.keras.models.load_model("/runs/final")
    model.save("/runs/exported")


def alone():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
    model.compile("adam", "mse")
    model.fit(tf.zeros([8, 4]), tf.zeros([8, 1]), epochs=1)
    model.save("/runs/final")


def together():
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
        model.compile("adam", "mse")
    data = tf.data.Dataset.from_tensors((tf.zeros([4]), tf.zeros([1]))).repeat().batch(64)
    model.fit(data, steps_per_epoch=5, epochs=2)
    task = strategy.cluster_resolver.task_id
    model.save("/runs/final" if task == 0 else f"/tmp/{task}")


if action == "export":
    export()
elif int(os.environ.get("TF_NUM_WORKERS", "1")) == 1:
    alone()
else:
    together()
