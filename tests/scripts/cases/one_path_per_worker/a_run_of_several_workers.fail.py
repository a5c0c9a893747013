"""The number of workers decides, and several of them come here."""
import json
import os

import tensorflow as tf

cluster = json.loads(os.environ["TF_CONFIG"])["cluster"]
options = int(os.environ.get("TF_NUM_WORKERS", "1"))
if len(cluster["worker"]) > 1:
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
else:
    strategy = tf.distribute.get_strategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])


def keep_all(model):
    model.save("/runs/all")  # here: save() is given one path


if strategy.num_replicas_in_sync > 1:
    model.save("/runs/several")  # here: save() is given one path
else:
    model.save("/runs/one")
if len(cluster["worker"]) == 1:
    raise SystemExit("is meant for several workers")
model.save("/runs/after")  # here: save() is given one path
if len(cluster) == 1:
    model.save("/runs/kinds")  # here: save() is given one path
if len(cluster["worker"]) < 3:
    model.save("/runs/two")  # here: save() is given one path
if options < 3:
    model.save("/runs/perhaps")  # here: save() is given one path
keep_all(model)
