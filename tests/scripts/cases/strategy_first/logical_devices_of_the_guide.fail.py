"""The GPU guide's snippet, which lists logical devices."""
import tensorflow as tf

gpus = tf.config.list_physical_devices("GPU")
if gpus:
    try:
        for gpu in gpus:
            tf.config.experimental.set_memory_growth(gpu, True)
        logical_gpus = tf.config.list_logical_devices("GPU")  # here: tf.config.list_logical_devices()
        print(len(gpus), len(logical_gpus))
    except RuntimeError as error:
        print(error)

strategy = tf.distribute.MultiWorkerMirroredStrategy()
