"""What does not initialise the context, measured on both versions."""
import os

import numpy as np
import tensorflow as tf

os.environ["TF_CONFIG"] = os.environ.get("CLUSTER", "{}")
tf.get_logger().setLevel("ERROR")
tf.random.set_seed(1)
tf.keras.utils.set_random_seed(1)
tf.keras.mixed_precision.set_global_policy("mixed_float16")
tf.config.optimizer.set_jit(True)
tf.config.threading.set_inter_op_parallelism_threads(4)
tf.config.experimental.enable_op_determinism()
for gpu in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(gpu, True)
tf.config.set_visible_devices([], "TPU")
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
spec = tf.TensorSpec([None, 3], tf.float32)
features = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}
files = tf.io.gfile.glob("/data/*.tfrecord")
schedule = tf.keras.optimizers.schedules.CosineDecay(0.1, 1000)
loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
callbacks = [tf.keras.callbacks.EarlyStopping(), tf.keras.callbacks.TensorBoard("/tmp/logs")]
mean = np.array([0.5, 0.5, 0.5])
communication = tf.distribute.experimental.CommunicationOptions(
    implementation=tf.distribute.experimental.CommunicationImplementation.NCCL
)
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
print(tf.__version__, resolver.task_id, len(files), spec, features)
strategy = tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=resolver, communication_options=communication)
table = tf.constant(mean)
