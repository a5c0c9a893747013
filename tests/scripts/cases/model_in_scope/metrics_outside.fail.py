"""Objects of metrics for a model of the scope that were made outside of it."""
import tensorflow as tf
from tensorflow.keras import metrics

strategy = tf.distribute.MultiWorkerMirroredStrategy()
watched = [metrics.Precision(name="p"), "accuracy"]  # here: Precision() outside of the scope of the strategy of line 5
area = tf.keras.metrics.AUC()  # here: AUC() outside of the scope


def build():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=watched, weighted_metrics=[area])
    return model


with strategy.scope():
    model = build()
model.fit(tf.data.Dataset.range(100).map(lambda i: ([i], i)).repeat().batch(10), steps_per_epoch=10)
