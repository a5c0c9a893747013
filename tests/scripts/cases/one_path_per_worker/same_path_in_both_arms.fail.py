"""A decision that decides nothing."""
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
final = "/runs/final"
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
if strategy.cluster_resolver.task_id == 0:
    print("saving")
    model.save(final)  # here: the same path in both arms
else:
    model.save(final)  # here: the same path in both arms
