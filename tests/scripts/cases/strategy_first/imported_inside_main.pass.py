"""TensorFlow is imported in main, TF_CONFIG set before."""
import json
import os


def main():
    os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}})
    import tensorflow as tf

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        return tf.Variable(1.0)


main()
