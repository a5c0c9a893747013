"""What else the strategy trains says that the other model may be meant; without variables it may become the strategy's later."""

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
data = tf.data.Dataset.range(100).repeat().batch(8)
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(data, steps_per_epoch=10)
baseline = tf.keras.Sequential([tf.keras.layers.Dense(1)])
baseline.fit(tf.data.Dataset.range(3).batch(2), epochs=1)  # warns: each worker trains alone
late = tf.keras.Sequential([tf.keras.layers.Dense(1)])
with strategy.scope():
    late.fit(data, steps_per_epoch=10)
