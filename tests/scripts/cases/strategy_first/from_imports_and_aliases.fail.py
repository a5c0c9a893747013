"""No `tf` anywhere."""
from tensorflow import constant as const
from tensorflow.distribute import MultiWorkerMirroredStrategy as Strategy

SCALE = const(255.0)  # here: tf.constant()
strategy = Strategy()
