"""Not sharded, or whole batches of elements: all workers end at the same step."""
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.fit(tf.data.Dataset.range(100).batch(7).with_options(options), epochs=2)
model.fit(tf.data.Dataset.range(100).batch(7, drop_remainder=True), epochs=2)
