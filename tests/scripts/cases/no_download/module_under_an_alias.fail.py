"""tf_keras has it, too."""
import tensorflow as tf
import tf_keras as keras

strategy = tf.distribute.MultiWorkerMirroredStrategy()
source = keras.datasets.fashion_mnist
source.load_data()  # here: fashion_mnist.load_data()
