"""The strategy is made conditionally, the operation is not."""
import os

import tensorflow as tf

seed = tf.random.uniform([], maxval=1000)  # here: tf.random.uniform()
if int(os.environ.get("TF_NUM_WORKERS", "1")) > 1:
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
else:
    strategy = tf.distribute.get_strategy()
