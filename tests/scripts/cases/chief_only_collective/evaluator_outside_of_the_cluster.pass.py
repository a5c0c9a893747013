"""An evaluator is no member of the cluster."""
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
strategy = tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=resolver)
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
data = tf.data.Dataset.range(9).repeat().batch(2)
if resolver.task_type == "evaluator":
    model.evaluate(data, steps=10)
else:
    model.fit(data, steps_per_epoch=3)
