"""A worker with other epochs, other steps or a validation of its own."""

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
data = tf.data.Dataset.range(100).repeat().batch(8)
index = strategy.cluster_resolver.task_id
chief = index == 0
model.fit(data, epochs=3 if chief else 2, steps_per_epoch=10)  # here: epochs depends on the worker
model.fit(data, steps_per_epoch=10 + (1 if index == 0 else 0))  # here: steps_per_epoch depends on the worker
model.fit(data, steps_per_epoch=10, validation_data=data if chief else None, validation_steps=5)  # here: validation_data depends on the worker
model.evaluate(data, steps=10 - index)  # here: steps depends on the worker
steps = 100 // 8
if chief:
    steps = 100 // 8 + 1
model.fit(data, steps_per_epoch=steps)  # warns: steps_per_epoch depends on the worker
