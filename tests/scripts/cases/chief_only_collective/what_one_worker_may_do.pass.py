"""Logs, a summary, a model of its own from the saved files: none of it is collective."""
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
chief = strategy.cluster_resolver.task_id == 0
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
callbacks = []
if chief:
    model.summary()
    callbacks.append(tf.keras.callbacks.CSVLogger("/runs/log.csv"))
data = tf.data.Dataset.range(9).repeat().batch(2)
model.fit(data, steps_per_epoch=3, verbose=2 if chief else 0, callbacks=callbacks)
model.save("/runs/final" if chief else f"/tmp/{strategy.cluster_resolver.task_id}")
if chief:
    loaded = tf.keras.models.load_model("/runs/final")
    print(loaded.evaluate(data, steps=3))
