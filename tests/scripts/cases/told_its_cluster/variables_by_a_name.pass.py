# workers: 3
import os

import tensorflow as tf

for each in open("/etc/place"):
    name, value = each.split("=", 1)
    os.environ[name] = value
strategy = tf.distribute.MultiWorkerMirroredStrategy()
