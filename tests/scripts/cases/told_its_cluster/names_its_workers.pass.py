# workers: 3
import socket

import tensorflow as tf

place = tf.distribute.cluster_resolver.SimpleClusterResolver(
    tf.train.ClusterSpec({"worker": ["a:1", "b:1", "c:1"]}), task_type="worker", task_id=int(socket.gethostname()[-1])
)
strategy = tf.distribute.MultiWorkerMirroredStrategy(place)
