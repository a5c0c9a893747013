"""Metrics of the scope, by their names, of a model outside of it, of a loop of one's own; losses and optimizers have no variables yet."""
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
loss, optimizer = tf.keras.losses.MeanSquaredError(), tf.keras.optimizers.Adam()
later, by_label = tf.keras.metrics.F1Score(), tf.keras.metrics.AUC(multi_label=True)
seen = tf.keras.metrics.Mean()


def build(metrics):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer, loss, metrics=metrics)
    return model


with strategy.scope():
    model = build(["mae", tf.keras.metrics.Precision(), later, by_label])
model.fit(tf.data.Dataset.range(100).map(lambda i: ([i], i)).repeat().batch(10), steps_per_epoch=10)
beside = build([tf.keras.metrics.Precision()])
seen.update_state(1.0)
