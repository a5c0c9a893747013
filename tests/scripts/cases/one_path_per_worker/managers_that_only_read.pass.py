"""Managers that find what an earlier run has written and save nothing themselves."""
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
task = strategy.cluster_resolver.task_id
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
    model.compile("adam", "mse")
checkpoint = tf.train.Checkpoint(model=model)
tf.train.CheckpointManager(checkpoint, "/models/pretrained", max_to_keep=None).restore_or_initialize()
reads = tf.train.CheckpointManager(checkpoint, "/runs/here", max_to_keep=2)
writes = tf.train.CheckpointManager(checkpoint, "/runs/here" if task == 0 else f"/tmp/worker-{task}", max_to_keep=2)
if reads.latest_checkpoint:
    checkpoint.restore(reads.latest_checkpoint)
model.fit(tf.data.Dataset.range(100).map(lambda i: ([i], i)).repeat().batch(10), steps_per_epoch=10)
writes.save()
