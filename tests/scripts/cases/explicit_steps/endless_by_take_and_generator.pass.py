"""take() of an endless data set and a generator: how long they are is not known."""
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()


def rows():
    while True:
        yield [1.0], [1.0]


with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
generated = tf.data.Dataset.from_generator(rows, output_types=(tf.float32, tf.float32)).batch(8)
model.fit(generated, steps_per_epoch=10)
model.fit(tf.data.Dataset.range(9).repeat().take(100).batch(10), epochs=1)
