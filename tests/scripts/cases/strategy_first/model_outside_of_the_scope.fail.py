"""A model before the strategy."""
import tensorflow as tf
from tensorflow.keras import layers
from tensorflow.keras.models import Sequential

model = Sequential([layers.Dense(1, input_shape=(3,))])  # here: tf.keras.models.Sequential()
strategy = tf.distribute.MultiWorkerMirroredStrategy()
