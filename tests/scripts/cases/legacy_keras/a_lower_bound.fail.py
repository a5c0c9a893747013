# /// script
# dependencies = ["tensorflow[and-cuda]>=2.16"]
# ///
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
data = tf.data.Dataset.from_tensors(([[0.0]], [[0.0]])).repeat()
model.fit(data, steps_per_epoch=10)  # here: TensorFlow 2.16 or later needs tf-keras of its minor version and TF_USE_LEGACY_KERAS=1
