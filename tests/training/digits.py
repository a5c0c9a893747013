"""scikit-learn's handwritten digits (1,797 real images) as files in CIFAR-10's format; runs in a TensorFlow environment."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

HELD_OUT = 360


def write(folder: Path) -> None:
    """data_batch_1 to 5 and test_batch; 8 x 8 grey pixels become 32 x 32 in three equal channels."""
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    grey = np.kron(digits.images[order] * 255 / 16, np.ones((4, 4))).astype(np.uint8)
    rows = np.repeat(grey.reshape(-1, 1, 1024), 3, axis=1).reshape(-1, 3072)
    labels = digits.target[order].tolist()
    folder.mkdir(parents=True, exist_ok=True)
    parts = np.array_split(np.arange(HELD_OUT, len(labels)), 5)
    for name, chosen in [("test_batch", np.arange(HELD_OUT)), *((f"data_batch_{n}", p) for n, p in enumerate(parts, 1))]:
        batch = {b"batch_label": name.encode(), b"data": rows[chosen], b"labels": [int(labels[i]) for i in chosen]}
        (folder / name).write_bytes(pickle.dumps(batch, protocol=2))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
