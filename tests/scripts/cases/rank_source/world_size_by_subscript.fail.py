"""Through an alias of environ."""
from os import environ

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
size = int(environ["WORLD_SIZE"]) * int(environ["PET_NPROC_PER_NODE"])  # here: WORLD_SIZE is not set # here: PET_NPROC_PER_NODE is not set
