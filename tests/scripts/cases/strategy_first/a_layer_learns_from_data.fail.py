"""adapt() runs over the data: too early before the strategy. The layer alone is not."""
import numpy as np
import tensorflow as tf

normalise = tf.keras.layers.Normalization()
scale = tf.keras.layers.Rescaling(1 / 255)
normalise.adapt(np.zeros((4, 2)))  # here: adapt() initialises TensorFlow before the strategy of line 8
strategy = tf.distribute.MultiWorkerMirroredStrategy()
