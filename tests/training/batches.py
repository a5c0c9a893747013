"""Files in CIFAR-10's format with images made of noise: batches.py FOLDER; runs in a TensorFlow environment."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np

NAMES = (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch")


def batch(images: int = 64, seed: int = 0) -> dict[bytes, Any]:
    """The content of one file."""
    dice = np.random.default_rng(seed)
    pixels = dice.integers(0, 256, (images, 3072), dtype=np.uint8)
    return {b"batch_label": b"noise", b"data": pixels, b"labels": dice.integers(0, 10, images).tolist()}


def write(folder: Path, images: int = 64) -> Path:
    """All six files; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed, name in enumerate(NAMES):
        (folder / name).write_bytes(pickle.dumps(batch(images, seed), protocol=2))
    return folder


if __name__ == "__main__":
    write(Path(sys.argv[1]))
