"""Keras 3's ModelCheckpoint leaves every worker its path, Keras 2's does not."""
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
callbacks = [
    tf.keras.callbacks.BackupAndRestore("/runs/backup"),
    tf.keras.callbacks.ModelCheckpoint("/runs/best-{epoch}.keras", save_best_only=True),  # warns: ModelCheckpoint is given one path
]
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
data = tf.data.Dataset.range(9).repeat().batch(2)
model.fit(data, steps_per_epoch=3, callbacks=callbacks)
