# workers: 3
import json
import os

import tensorflow as tf

with open("/etc/place.json") as file:
    os.environ.update(json.load(file))
strategy = tf.distribute.MultiWorkerMirroredStrategy()
