"""A script of one's own, as it would be written for one machine: fits a curve. There is no cluster code in it.

Alone:       python3 curve.py
In a pod:    python3 /workspace/code/tfrun.py -- python3 /workspace/code/curve.py
tfrun has set TF_CONFIG by the time TensorFlow is imported, so the strategy finds the other workers, or none.
"""

import os

import tensorflow as tf

SAMPLES = 8192


def samples(batch_size):
    """x and sin(3x), in batches without end: how many make an epoch is said to fit()."""
    numbers = tf.data.Dataset.range(SAMPLES).shuffle(SAMPLES, seed=1).repeat()
    points = numbers.map(lambda i: tf.reshape(tf.cast(i, tf.float32) / SAMPLES * 4 - 2, [1]))
    return points.map(lambda x: (x, tf.sin(3 * x))).batch(batch_size, drop_remainder=True)


def main():
    tf.keras.utils.set_random_seed(1)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    batch_size = int(os.environ.get("BATCH_SIZE", "64")) * strategy.num_replicas_in_sync
    with strategy.scope():
        layers = [tf.keras.layers.Dense(64, "tanh", input_shape=(1,)), tf.keras.layers.Dense(64, "tanh")]
        model = tf.keras.Sequential([*layers, tf.keras.layers.Dense(1)])
        model.compile(tf.keras.optimizers.Adam(0.01), "mse")
    steps = SAMPLES // batch_size
    model.fit(samples(batch_size), epochs=int(os.environ.get("EPOCHS", "5")), steps_per_epoch=steps, verbose=2)
    loss = model.evaluate(samples(batch_size), steps=steps, verbose=0)
    print(f"Mean squared error: {loss:.4f} on {strategy.num_replicas_in_sync} replicas", flush=True)


if __name__ == "__main__":
    main()
