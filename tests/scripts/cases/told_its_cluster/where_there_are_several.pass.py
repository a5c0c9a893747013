# workers: 3
import os

import tensorflow as tf

if os.environ.get("WORKERS", "1") != "1":
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
else:
    strategy = tf.distribute.get_strategy()
