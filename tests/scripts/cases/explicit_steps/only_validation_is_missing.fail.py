"""The training is right, the validation is not."""
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
train = tf.data.Dataset.from_tensor_slices(([1.0], [1.0])).repeat().batch(64)
held = tf.data.Dataset.from_tensor_slices(([1.0], [1.0])).batch(64)
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.fit(train, epochs=3, steps_per_epoch=100, validation_data=held)  # here: validation_data without validation_steps
