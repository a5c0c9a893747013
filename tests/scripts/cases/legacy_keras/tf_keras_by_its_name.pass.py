# /// script
# dependencies = ["tensorflow==2.18.1", "tf-keras~=2.18.0"]
# ///
"""No variable is needed for tf_keras itself."""
import tensorflow as tf
import tf_keras as keras

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(1)])
data = tf.data.Dataset.range(9).repeat().batch(2)
model.fit(data, steps_per_epoch=3)
