"""A cardinality that is the number of steps, one epoch, a pass that has enough, and what cannot be counted."""

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
SAMPLES = 40_000
BATCH = 64 * strategy.num_replicas_in_sync
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
records = tf.data.TFRecordDataset(tf.io.gfile.glob("/data/*.tfrecord")).map(lambda record: (record, record))
numbers = tf.data.Dataset.range(SAMPLES)
model.fit(numbers.batch(BATCH, drop_remainder=True), epochs=3, steps_per_epoch=SAMPLES // BATCH)
model.fit(tf.data.Dataset.range(1024).batch(64), epochs=3, steps_per_epoch=1024 // 64)
model.fit(tf.data.Dataset.range(1000).batch(10), epochs=3, steps_per_epoch=33)
model.fit(records.batch(BATCH), epochs=1, steps_per_epoch=SAMPLES // BATCH)
model.fit(records.batch(BATCH), steps_per_epoch=SAMPLES // BATCH)
model.fit(records.repeat().batch(BATCH), epochs=5, steps_per_epoch=SAMPLES // BATCH)
model.fit(records.repeat(5).batch(BATCH), epochs=5, steps_per_epoch=SAMPLES // BATCH)
counted = records.batch(BATCH).apply(tf.data.experimental.assert_cardinality(SAMPLES // BATCH))
model.fit(counted, epochs=5, steps_per_epoch=SAMPLES // BATCH)
batches = numbers.batch(BATCH)
model.fit(batches, epochs=5, steps_per_epoch=len(batches))
model.fit(numbers.batch(BATCH), epochs=5, steps_per_epoch=-(-SAMPLES // BATCH))
