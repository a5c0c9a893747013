"""Every worker saves to the one path of the run."""
import os

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
RUN = os.environ.get("CHECKPOINT_DIR", "/runs/digits")
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.save(os.path.join(RUN, "final"))  # here: save() is given one path on all workers
