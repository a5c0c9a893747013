"""A callback that saves, for one worker only (measured: aborts)."""
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
is_chief = strategy.cluster_resolver.task_id == 0
callbacks = [tf.keras.callbacks.TerminateOnNaN()]
if is_chief:
    callbacks.append(tf.keras.callbacks.ModelCheckpoint("/runs/model.keras"))
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.fit(tf.data.Dataset.range(9).repeat().batch(2), steps_per_epoch=3, callbacks=callbacks)  # here: the callback ModelCheckpoint is for some workers only
