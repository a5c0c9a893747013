"""What torchrun would set."""
import os

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
rank = int(os.environ["RANK"])  # here: RANK is not set
