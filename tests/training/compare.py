"""Print the largest difference between the last checkpoints of two folders; runs in a TensorFlow environment."""

from __future__ import annotations

import sys

import numpy as np
import tensorflow as tf


def main(one: str, other: str) -> None:
    readers = [tf.train.load_checkpoint(folder) for folder in (one, other)]
    shapes = [reader.get_variable_to_shape_map() for reader in readers]
    assert shapes[0] == shapes[1]
    names = [n for n in shapes[0] if not n.startswith("_CHECKPOINTABLE") and "save_counter" not in n]
    differences = [float(np.max(np.abs(readers[0].get_tensor(n) - readers[1].get_tensor(n)), initial=0)) for n in names]
    print(max(differences))


if __name__ == "__main__":
    main(*sys.argv[1:3])
