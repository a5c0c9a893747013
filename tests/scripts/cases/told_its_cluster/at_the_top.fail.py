# workers: 3
import os

import tensorflow as tf

os.environ["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"
print(os.environ.get("EPOCHS"), "POD" in os.environ)
strategy = tf.distribute.MultiWorkerMirroredStrategy()  # here: 3 workers start the script and nothing tells them
with strategy.scope():
    model = tf.Variable(1.0)
