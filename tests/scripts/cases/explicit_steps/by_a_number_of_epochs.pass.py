"""Readers that repeat what they read themselves, with a number of steps; how often one reads is not known."""
import os

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
train = tf.data.experimental.make_csv_dataset("/data/train/*.csv", 64, label_name="y")
held = tf.data.experimental.make_csv_dataset("/data/held/*.csv", 64, label_name="y", num_epochs=1, shuffle=False)
model.fit(train, epochs=2, steps_per_epoch=100, validation_data=held, validation_steps=10)
model.fit(tf.data.experimental.make_csv_dataset("/data/*.csv", 64, label_name="y", num_epochs=os.environ.get("TIMES")), epochs=2)
