# workers: 3
import tensorflow as tf
from place import announce

announce()
strategy = tf.distribute.MultiWorkerMirroredStrategy()
