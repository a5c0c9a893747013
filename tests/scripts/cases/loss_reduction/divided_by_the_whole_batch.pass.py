# /// script
# dependencies = ["tensorflow==2.15.1"]
# ///
"""Losses without a mean in a loop of one's own; with it where Keras knows the batch, or where no strategy is."""
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
mean = tf.keras.losses.MeanSquaredError()
each = tf.keras.losses.MeanSquaredError(reduction=tf.keras.losses.Reduction.NONE)
total = tf.keras.losses.SparseCategoricalCrossentropy(True, reduction="sum")
by_place = tf.keras.losses.MeanAbsoluteError(tf.keras.losses.Reduction.NONE)
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", mean)


def step(x, y):
    p = model(x, training=True)
    whole = tf.nn.compute_average_loss(each(y, p), global_batch_size=64) + total(y, p) / 64 + tf.reduce_sum(by_place(y, p)) / 64
    return whole + tf.reduce_mean(tf.keras.losses.mean_squared_error(y, p))


strategy.run(step, args=(tf.zeros([4, 1]), tf.zeros([4, 1])))
model.fit(tf.data.Dataset.range(100).map(lambda i: ([i], i)).repeat().batch(10), steps_per_epoch=10)
print(mean([0.0], [1.0]))
