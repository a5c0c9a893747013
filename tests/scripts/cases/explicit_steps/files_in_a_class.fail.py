"""Records from files, everything in methods, arguments in a dictionary."""
import tensorflow as tf


class Trainer:
    def __init__(self, folder):
        self.strategy = tf.distribute.MultiWorkerMirroredStrategy()
        self.folder = folder
        with self.strategy.scope():
            self.model = self.build()

    def build(self):
        model = tf.keras.applications.ResNet50(weights=None)
        model.compile("sgd", "mse")
        return model

    def dataset(self, split, training=True):
        files = tf.data.Dataset.list_files(f"{self.folder}/{split}-*", shuffle=training)
        dataset = files.interleave(tf.data.TFRecordDataset, num_parallel_calls=tf.data.AUTOTUNE)
        if training:
            dataset = dataset.shuffle(1000)
        return dataset.batch(64, drop_remainder=True).prefetch(tf.data.AUTOTUNE)

    def train(self, epochs):
        arguments = dict(epochs=epochs, callbacks=[tf.keras.callbacks.TerminateOnNaN()])
        self.model.fit(self.dataset("train"), **arguments)  # here: steps_per_epoch


if __name__ == "__main__":
    Trainer("/data").train(5)
