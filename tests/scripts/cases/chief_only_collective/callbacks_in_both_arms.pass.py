"""Two lists of callbacks, both save."""
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
index = strategy.cluster_resolver.task_id
if index == 0:
    path = "/runs/best.keras"
else:
    path = f"/tmp/{index}/best.keras"
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
data = tf.data.Dataset.range(9).repeat().batch(2)
model.fit(data, steps_per_epoch=3, callbacks=[tf.keras.callbacks.ModelCheckpoint(path)])
if index == 0:
    model.fit(data, steps_per_epoch=3, callbacks=[tf.keras.callbacks.ModelCheckpoint("/runs/last.keras")], verbose=1)
else:
    model.fit(data, steps_per_epoch=3, callbacks=[tf.keras.callbacks.ModelCheckpoint(f"/runs/{index}.keras")], verbose=0)
