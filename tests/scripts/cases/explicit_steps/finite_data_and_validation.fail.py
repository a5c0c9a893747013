"""Neither steps_per_epoch nor validation_steps."""
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()


def data(count):
    return tf.data.Dataset.range(count).map(lambda i: (tf.fill([4], i), i % 2)).batch(64)


with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(data(1001), epochs=3, steps_per_epoch=None, validation_data=data(101))  # here: fit() without steps_per_epoch # here: validation_steps
