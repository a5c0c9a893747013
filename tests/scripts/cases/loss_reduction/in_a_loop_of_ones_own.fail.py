# /// script
# dependencies = ["tensorflow==2.15.1"]
# ///
"""Losses with the mean over the batch in what strategy.run runs, and straight under the scope."""
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
    optimizer = tf.keras.optimizers.SGD(0.1)
    classes = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    mean = tf.keras.losses.MeanSquaredError(reduction=tf.keras.losses.Reduction.SUM_OVER_BATCH_SIZE)
    mean(tf.zeros([2]), tf.ones([2]))  # here: MeanSquaredError with its default reduction


def step(batch):
    x, y = batch
    with tf.GradientTape() as tape:
        loss = classes(y, model(x, training=True))  # here: SparseCategoricalCrossentropy with its default reduction
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


@tf.function
def train(iterator):
    return strategy.reduce("SUM", strategy.run(step, args=(next(iterator),)), axis=None)


data = tf.data.Dataset.range(100).map(lambda i: ([i], 1)).repeat().batch(10)
shared = iter(strategy.experimental_distribute_dataset(data))
for _ in range(10):
    train(shared)
