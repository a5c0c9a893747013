"""tf.train.CheckpointManager, the chief by an attribute."""
import tensorflow as tf


class Run:
    def __init__(self):
        self.strategy = tf.distribute.MultiWorkerMirroredStrategy()
        self.chief = self.strategy.cluster_resolver.task_id == 0
        with self.strategy.scope():
            self.model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        self.checkpoint = tf.train.Checkpoint(model=self.model)
        self.manager = tf.train.CheckpointManager(self.checkpoint, f"/runs/{self.strategy.cluster_resolver.task_id}", 3)

    def save(self, step):
        if step % 100 == 0 and self.chief:
            self.manager.save()  # here: save() is for some workers only


run = Run()
for step in range(1000):
    run.save(step)
