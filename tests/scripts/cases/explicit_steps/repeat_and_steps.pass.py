"""As it should be, in several shapes."""
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
SAMPLES, BATCH = 1000, 64 * strategy.num_replicas_in_sync


def data(split, repeat=True):
    dataset = tf.data.TFRecordDataset(tf.io.gfile.glob(f"/data/{split}/*")).shuffle(1000)
    if repeat:
        dataset = dataset.repeat()
    return dataset.batch(BATCH)


def train(model, **arguments):
    arguments.setdefault("validation_steps", 5)
    model.fit(data("train"), steps_per_epoch=SAMPLES // BATCH, validation_data=data("held", False), **arguments)


with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
train(model, epochs=3)
model.fit(data("train"), None, None, 3, 2, None, 0.0, data("held"), True, None, None, 0, 100, 10)
model.evaluate(data("held"), steps=10)
