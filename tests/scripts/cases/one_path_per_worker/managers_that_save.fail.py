"""A manager that is saved in a method, and one that TensorFlow saves when a worker is to go."""
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
checkpoint = tf.train.Checkpoint(model=model)


class Keeper:
    def __init__(self, directory):
        self.manager = tf.train.CheckpointManager(checkpoint, directory, max_to_keep=2)  # here: is given one path on all workers

    def keep(self):
        self.manager.save()


Keeper("/runs/here").keep()
preempted = tf.train.CheckpointManager(checkpoint, "/runs/preempted", max_to_keep=1)  # here: is given one path on all workers
tf.distribute.experimental.PreemptionCheckpointHandler(strategy.cluster_resolver, preempted)
