"""A scratch path without the index is enough for two workers and no more."""

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
resolver = strategy.cluster_resolver
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])


def path(base, chief):
    return base if chief else base + "_tmp"


chief = resolver.task_id == 0
model.save("/runs/final" if chief else "/runs/scratch")  # warns: one path for each kind of worker
model.save(path("/runs/final", chief))  # warns: one path for each kind of worker
model.save(f"/runs/{resolver.task_type}")  # warns: one path for each kind of worker
if chief:
    model.save("/runs/final")
else:
    model.save("/runs/scratch")  # warns: one path for each kind of worker
