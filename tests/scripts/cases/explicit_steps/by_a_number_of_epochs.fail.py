"""Readers that repeat what they read themselves: as often as num_epochs says, or without end."""
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
once = tf.data.experimental.make_csv_dataset("/data/*.csv", 64, label_name="y", num_epochs=1)
model.fit(once, epochs=2)  # here: on a data set without repeat()
records = tf.data.experimental.make_batched_features_dataset("/data/*.rec", 64, {}, None, "y", None, 3)
model.fit(records)  # here: on a data set without repeat()
endless = tf.data.experimental.make_csv_dataset("/data/*.csv", 64, label_name="y", num_epochs=-1)
model.fit(endless)  # here: repeats without end
