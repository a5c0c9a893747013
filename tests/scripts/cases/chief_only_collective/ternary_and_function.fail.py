"""As an expression, with the function that saves."""
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
chief = strategy.cluster_resolver.task_id == 0
tf.saved_model.save(model, "/runs/final") if chief else None  # here: tf.saved_model.save() is for some workers only
chief and model.predict(tf.data.Dataset.range(10).batch(2))  # here: predict() is for some workers only
