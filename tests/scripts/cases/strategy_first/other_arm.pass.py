"""The operation is where there is only one worker; the strategy is not."""
import os

import tensorflow as tf

if "TF_CONFIG" in os.environ:
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
else:
    print(tf.constant(1))
    strategy = tf.distribute.MirroredStrategy()
zeros = tf.zeros([1])
