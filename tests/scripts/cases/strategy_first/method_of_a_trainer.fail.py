"""In methods: what __init__ does comes before what run() does."""
import tensorflow as tf


class Trainer:
    def __init__(self):
        self.optimizer = tf.keras.optimizers.Adam(1e-3)  # here: tf.keras.optimizers.Adam()
        self.strategy = None

    def run(self):
        self.strategy = tf.distribute.MultiWorkerMirroredStrategy()


trainer = Trainer()
trainer.run()
