"""A loop of one's own: the manager's directory, and a checkpoint's prefix."""
import tensorflow as tf


def train(directory):
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        checkpoint = tf.train.Checkpoint(model=model)
    manager = tf.train.CheckpointManager(checkpoint, directory=directory, max_to_keep=2)  # here: tf.train.CheckpointManager() is given one path
    for step in range(10):
        if step % 5 == 0:
            manager.save()
    checkpoint.save("/runs/last/ckpt")  # here: save() is given one path


train("/runs/checkpoints")
