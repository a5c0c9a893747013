"""What a worker reads, prints and logs may be its own; what counts is the same."""

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
data = tf.data.Dataset.range(100).repeat().batch(8)
index = strategy.cluster_resolver.task_id
chief = index == 0
held = data.take(10) if chief else data.skip(10)
model.fit(
    data.shard(8, index),
    epochs=3 if chief else 3,
    steps_per_epoch=100 // (8 * strategy.num_replicas_in_sync),
    verbose=2 if chief else 0,
    callbacks=[tf.keras.callbacks.TensorBoard(f"/runs/logs/{index}")] if chief else None,
    validation_data=held,
    validation_steps=10,
)
model.fit(data, steps_per_epoch=10, validation_data=data if tf.config.list_physical_devices("GPU") else None, validation_steps=5)
shards = [data.shard(8, number) for number in range(8)]
model.fit(data, steps_per_epoch=10, validation_data=shards[index] if tf.config.list_logical_devices("GPU") else None, validation_steps=5)
