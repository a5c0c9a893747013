"""A loop over distributed data ends on all workers together: TensorFlow asks all of them whether one still has data."""
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(100).batch(8))
iterator = iter(dataset)
for _ in range(10):
    next(iterator)
for batch in dataset:
    print(batch)
