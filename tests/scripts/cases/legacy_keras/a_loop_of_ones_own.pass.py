# /// script
# dependencies = ["tensorflow==2.18.1"]
# ///
"""Keras 3 with strategy.run, and predict: both work, or may."""
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.SGD(0.1)


@tf.function
def step(batch):
    def replica(images, labels):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(images) - labels) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    return strategy.reduce("SUM", strategy.run(replica, args=batch), axis=None)


data = strategy.experimental_distribute_dataset(tf.data.Dataset.range(9).map(lambda i: (i, i)).repeat().batch(2))
batches = iter(data)
for _ in range(10):
    step(next(batches))
model.predict(data, steps=2)
