"""AutoShardPolicy.FILE where there are no files."""
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.FILE
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
data = tf.data.Dataset.range(1000).map(lambda i: ([i], i)).repeat().batch(64)
data = data.with_options(options)  # here: AutoShardPolicy.FILE for data that come from no file
model.fit(data, steps_per_epoch=100)
