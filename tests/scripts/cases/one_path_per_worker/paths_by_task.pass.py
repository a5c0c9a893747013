"""Every way to a path of one's own."""
import json
import os
import socket
import tempfile

import tensorflow as tf
from mytrain.paths import output_path

strategy = tf.distribute.MultiWorkerMirroredStrategy()
resolver = strategy.cluster_resolver
config = json.loads(os.environ["TF_CONFIG"])
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])


def is_chief(kind, index):
    return kind is None or kind == "chief" or (kind == "worker" and index == 0)


def write_path(base, kind, index):
    if is_chief(kind, index):
        return base
    return os.path.join(os.path.dirname(base), "scratch", f"{kind}_{index}")


base = "/runs/final"
model.save(write_path(base, resolver.task_type, resolver.task_id))
model.save(f"{base}/{config['task']['index']}")
model.save("/runs/" + os.environ["JOB_COMPLETION_INDEX"])
model.save("/runs/%s" % socket.gethostname())
model.save("/runs/{}".format(os.uname().nodename))
model.save(tempfile.mkdtemp())
model.save("/tmp/model")
model.save(os.path.join(tempfile.gettempdir(), "model"))
model.save(output_path("final"))
path = base
if resolver.task_id:
    path = f"/runs/not-kept-{resolver.task_id}"
model.save(path)
model.save(base if resolver.task_id == 0 else "/tmp/scratch")
model.save([base, "/runs/other"][resolver.task_id])
paths = {True: base, False: f"/runs/not-kept-{resolver.task_id}"}
model.save(paths[resolver.task_id == 0])
if resolver.task_id == 0:
    model.save(base)
else:
    model.save(f"/runs/not-kept-{resolver.task_id}")
