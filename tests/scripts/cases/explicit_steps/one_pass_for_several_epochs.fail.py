"""Keras begins a data set again only where its cardinality is the number of steps: one pass has to do for all epochs."""

import os

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
SAMPLES = 40_000
BATCH = 64 * strategy.num_replicas_in_sync
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
records = tf.data.TFRecordDataset(tf.io.gfile.glob("/data/*.tfrecord")).map(lambda record: (record, record))
model.fit(records.batch(BATCH), epochs=5, steps_per_epoch=SAMPLES // BATCH)  # here: a later epoch runs out of data
model.fit(records.batch(BATCH), epochs=5, steps_per_epoch=max(1, SAMPLES // BATCH))  # here: a later epoch runs out of data
model.fit(tf.data.Dataset.range(1000).batch(64), epochs=2, steps_per_epoch=1000 // 64)  # here: a later epoch runs out of data
model.fit(records.batch(BATCH), epochs=5, steps_per_epoch=100)  # warns: one pass is enough for all
model.fit(records.batch(BATCH), epochs=int(os.environ["EPOCHS"]), steps_per_epoch=SAMPLES // BATCH)  # warns: unless its cardinality
model.fit(tf.data.Dataset.range(SAMPLES).batch(BATCH), epochs=3, steps_per_epoch=SAMPLES // BATCH)  # warns: unless its cardinality
