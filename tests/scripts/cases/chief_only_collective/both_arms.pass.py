"""All take part, each with a path of its own."""
import os
import shutil

import tensorflow as tf
from mytrain import scratch

strategy = tf.distribute.MultiWorkerMirroredStrategy()
task = strategy.cluster_resolver.task_id
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
if task == 0:
    model.save("/runs/final")
else:
    model.save(f"/tmp/{task}")
    shutil.rmtree(f"/tmp/{task}")
if task == 0:
    model.save_weights("/runs/weights")
if task != 0:
    model.save_weights(f"/runs/scratch-{task}")
if task == 0:
    model.export("/runs/export")
else:
    scratch.save_elsewhere(model)
loss = model.evaluate(tf.data.Dataset.range(9).repeat().batch(2), steps=3)
if task == 0:
    print(loss)
    with open(os.path.join("/runs", "loss"), "w") as file:
        file.write(str(loss))
