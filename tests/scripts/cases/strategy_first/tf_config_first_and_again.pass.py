"""TF_CONFIG was there in time; what is written later is for a child process."""
import os
import subprocess

import tensorflow as tf

os.environ.setdefault("TF_CONFIG", "{}")
strategy = tf.distribute.MultiWorkerMirroredStrategy()
os.environ["TF_CONFIG"] = ""
environment = dict(os.environ)
environment["TF_CONFIG"] = "{}"
subprocess.run(["true"], env=environment, check=True)
