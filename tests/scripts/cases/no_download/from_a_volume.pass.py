"""Files of a volume, and downloads that are not certain."""
import os
import urllib.request

import numpy as np
import tensorflow as tf
import tensorflow_datasets as tfds

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with np.load(os.path.join(os.environ["DATA_DIR"], "train.npz")) as part:
    images = part["images"]
tf.keras.datasets.mnist.load_data(path="/data/mnist.npz")
tfds.load("mnist", data_dir="/data", download=False)
tfds.load("mnist")  # warns: tfds.load()
if not os.path.exists("/data/x"):
    urllib.request.urlretrieve("https://example.com/x", "/data/x")  # warns: urllib.request.urlretrieve()
tf.keras.utils.get_file("x", origin="file:///data/x")
