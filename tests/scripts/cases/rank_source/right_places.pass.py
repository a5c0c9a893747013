"""The index of the pod, TF_CONFIG, the strategy; and what the script sets itself."""
import json
import os

import tensorflow as tf

index = int(os.environ["JOB_COMPLETION_INDEX"])
task = json.loads(os.environ["TF_CONFIG"])["task"]
os.environ["RANK"] = str(index)
strategy = tf.distribute.MultiWorkerMirroredStrategy()
print(strategy.cluster_resolver.task_id, os.environ["RANK"], task)
