# workers: 3
import os

import tensorflow as tf

rate = 10 ** -float(os.environ["JOB_COMPLETION_INDEX"])
strategy = tf.distribute.MultiWorkerMirroredStrategy()
