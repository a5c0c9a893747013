"""A script for several launchers."""
import os

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
index = int(os.environ.get("RANK", os.environ.get("JOB_COMPLETION_INDEX", "0")))  # what is taken in its place is right
task = int(os.environ.get("RANK", strategy.cluster_resolver.task_id))
rank = int(os.environ.get("RANK", "0"))  # warns: RANK is not set
if "WORLD_SIZE" in os.environ:
    size = int(os.environ["WORLD_SIZE"])  # warns: WORLD_SIZE is not set
try:
    local = os.environ["LOCAL_RANK"]  # warns: LOCAL_RANK is not set
except KeyError:
    local = "0"
