# workers: 3
import json
import os
import socket

import tensorflow as tf

index = int(socket.gethostname().rpartition("-")[2])
os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": ["a:1", "b:1", "c:1"]}, "task": {"type": "worker", "index": index}})
strategy = tf.distribute.MultiWorkerMirroredStrategy()
