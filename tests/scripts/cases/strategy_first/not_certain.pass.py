"""Only a warning: nobody knows whether DEBUG is set."""
import os

import tensorflow as tf

if os.environ.get("DEBUG"):
    print(tf.constant(1))  # warns: tf.constant()
strategy = tf.distribute.MultiWorkerMirroredStrategy()
