"""What only a worker that is alone does, it does for itself: the number of workers says so in many ways."""
import json
import os

import tensorflow as tf

workers = json.loads(os.environ.get("TF_CONFIG", "{}")).get("cluster", {}).get("worker", [])
options = int(os.environ.get("TF_NUM_WORKERS", "1"))
strategy = tf.distribute.MultiWorkerMirroredStrategy() if options > 1 else tf.distribute.get_strategy()
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
    model.compile("adam", "mse")
data = tf.data.Dataset.from_tensors((tf.zeros([4]), tf.zeros([1]))).repeat().batch(64)
model.fit(data, steps_per_epoch=5, epochs=2)


def keep(model, alone):
    if alone:
        model.save("/runs/final")
        return
    task = strategy.cluster_resolver.task_id
    model.save("/runs/final" if task == 0 else f"/runs/.{task}")


def keep_alone(model):
    model.save("/runs/final")


if len(workers) <= 1:
    keep_alone(model)
if not len(workers) > 1:
    model.save("/runs/final")
alone = 2 > resolver.cluster_spec().num_tasks("worker")
keep(model, alone)
keep(model, len(resolver.cluster_spec().as_dict()["worker"]) == 1)
if options <= 1:
    model.save("/runs/final")
elif len(workers) < 2 or len(workers) == 0:
    model.save("/runs/final")
if options == 1:
    model.save("/runs/final")
elif not options > 1:
    model.save("/runs/final")
callbacks = [tf.keras.callbacks.BackupAndRestore("/runs/backup")]
if len(workers) == 1:
    callbacks.append(tf.keras.callbacks.TensorBoard("/runs/logs"))
    model.fit(data, callbacks=callbacks)
model.fit(data, steps_per_epoch=5, callbacks=callbacks)
