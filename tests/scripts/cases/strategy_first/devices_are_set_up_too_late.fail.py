"""Memory growth, virtual devices and threads are set before the strategy, or not at all."""

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
gpus = tf.config.list_physical_devices("GPU")
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)  # here: after the strategy of line 5
tf.config.threading.set_inter_op_parallelism_threads(4)  # here: after the strategy of line 5
try:
    tf.config.set_logical_device_configuration(gpus[0], [tf.config.LogicalDeviceConfiguration(memory_limit=1024)])  # warns: refuses it
except RuntimeError as error:
    print(error)
