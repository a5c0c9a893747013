"""Keras 3 lets it pass, and nothing says which one it is."""
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
loss = tf.keras.losses.Huber()
strategy.run(lambda: loss(tf.zeros([2]), tf.ones([2])))  # warns: Huber with its default reduction
