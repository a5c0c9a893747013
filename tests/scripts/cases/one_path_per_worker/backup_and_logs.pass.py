"""BackupAndRestore is its own keeper; logs are a warning."""
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
data = tf.data.Dataset.range(9).repeat().batch(2)
callbacks = [
    tf.keras.callbacks.BackupAndRestore(backup_dir="/runs/backup"),
    tf.keras.callbacks.TensorBoard(log_dir="/runs/logs"),  # warns: TensorBoard is given one path
]
model.fit(data, steps_per_epoch=3, callbacks=callbacks)
