"""Making the layers does nothing, applying one does."""
import tensorflow as tf

inputs = tf.keras.Input((3,))
heads = [tf.keras.layers.Dense(1)(inputs) for _ in range(2)]  # here: tf.keras.layers.Dense()
strategy = tf.distribute.MultiWorkerMirroredStrategy()
