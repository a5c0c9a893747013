"""CIFAR-10's python batches from a folder: read without running what is in them, checked, never downloaded.

A pickle is a program. The files of CIFAR-10 need four names (numpy's array, its dtype and how they are rebuilt, and the
codec by which Python 3 writes bytes in the old protocol); here these are stand-ins that only keep the values, and any
other name is an error. So a file can be refused, or give an array of bytes, but cannot call anything.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

TRAIN = tuple(f"data_batch_{number}" for number in range(1, 6))
TEST = ("test_batch",)
SIDE, CHANNELS, CLASSES = 32, 3, 10
ROW = SIDE * SIDE * CHANNELS
LARGEST = 256 << 20  # bytes of one file; the real ones have 31 MB


class BadData(ValueError):
    """The data set cannot be used; the message names the file and what to do."""


@dataclass(frozen=True, kw_only=True)
class Split:
    """Images as uint8 [n, 32, 32, 3], labels as int32 [n] from 0 to 9."""

    images: np.ndarray[Any, Any]
    labels: np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Cifar:
    """The whole set, with a checksum over all its files."""

    train: Split
    test: Split
    sha256: str


def read(folder: str, expected_sha256: str = "") -> Cifar:
    """Read and check all files. Raises BadData."""
    root = Path(folder)
    if not root.is_dir():
        raise BadData(f"DATA_DIR={folder}: no such folder. Is the volume with CIFAR-10's python batches mounted there?")
    lacking = [name for name in TRAIN + TEST if not (root / name).is_file()]
    if lacking:
        raise BadData(f"DATA_DIR={folder}: no file {', '.join(lacking)}. It must be the unpacked cifar-10-batches-py")
    digest = hashlib.sha256()
    splits = []
    for names in (TRAIN, TEST):
        parts = []
        for name in names:
            raw = _bytes(root / name)
            digest.update(f"{hashlib.sha256(raw).hexdigest()}  {name}\n".encode())
            parts.append(decode(raw, str(root / name)))
        splits.append(
            Split(images=np.concatenate([p.images for p in parts]), labels=np.concatenate([p.labels for p in parts]))
        )
    checksum = digest.hexdigest()
    if expected_sha256 and checksum != expected_sha256:
        raise BadData(f"DATA_DIR={folder} has checksum {checksum}, DATA_SHA256 asks for {expected_sha256}")
    return Cifar(train=splits[0], test=splits[1], sha256=checksum)


def decode(raw: bytes, name: str) -> Split:
    """One file's images and labels. Raises BadData with its name."""
    try:
        batch = _Restricted(io.BytesIO(raw), encoding="bytes").load()
    except BadData as error:
        raise BadData(f"{name}: {error}") from None
    except Exception as error:  # a broken pickle raises almost anything
        raise BadData(f"{name}: not a complete CIFAR-10 batch ({type(error).__name__}: {error}). Truncated?") from None
    if not isinstance(batch, dict):
        raise BadData(f"{name}: holds a {type(batch).__name__}, not a CIFAR-10 batch")
    entries = {key.decode("latin1") if isinstance(key, bytes) else key: value for key, value in batch.items()}
    pixels, labels = entries.get("data"), entries.get("labels")
    if not isinstance(pixels, _Array) or not isinstance(labels, list):
        raise BadData(f"{name}: lacks data or labels; CIFAR-100 and batches.meta are other files")
    try:
        array = pixels.value()
    except BadData as error:
        raise BadData(f"{name}: {error}") from None
    if array.ndim != 2 or array.shape[1] != ROW or not len(array):
        raise BadData(f"{name}: data has shape {array.shape}, expected (images, {ROW})")
    if len(labels) != len(array):
        raise BadData(f"{name}: {len(array)} images but {len(labels)} labels")
    if not all(type(label) is int and 0 <= label < CLASSES for label in labels):
        raise BadData(f"{name}: a label is not a whole number from 0 to {CLASSES - 1}")
    images = array.reshape(-1, CHANNELS, SIDE, SIDE).transpose(0, 2, 3, 1)
    return Split(images=np.ascontiguousarray(images), labels=np.array(labels, np.int32))


def _bytes(file: Path) -> bytes:
    try:
        if file.stat().st_size > LARGEST:
            raise BadData(f"{file}: larger than {LARGEST >> 20} MiB, not a CIFAR-10 batch")
        return file.read_bytes()
    except OSError as error:
        raise BadData(f"{file}: {error.strerror}") from None


class _Dtype:
    """Stands for numpy.dtype: keeps its name."""

    def __init__(self, name: object = None, *_rest: object) -> None:
        self.name = name.decode("latin1") if isinstance(name, bytes) else name

    def __setstate__(self, _state: object) -> None:
        """Byte order and the like say nothing about bytes."""


class _Array:
    """Stands for numpy.ndarray: keeps the state that a pickled array has."""

    state: tuple[Any, ...] = ()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.state = state

    def value(self) -> np.ndarray[Any, Any]:
        """The array of bytes. Raises BadData if it is anything else."""
        if len(self.state) != 5:
            raise BadData("an array is not complete")
        _version, shape, dtype, fortran, content = self.state
        if not isinstance(dtype, _Dtype) or dtype.name != "u1" or fortran or not isinstance(content, bytes):
            raise BadData("data is not an array of unsigned bytes")
        if not isinstance(shape, tuple) or not all(type(length) is int and length >= 0 for length in shape):
            raise BadData("the shape of data is not a tuple of lengths")
        flat = np.frombuffer(content, np.uint8)
        if int(np.prod(shape, dtype=np.int64)) != len(flat):
            raise BadData(f"data has {len(flat)} bytes, its shape {shape} needs another number")
        return flat.reshape(shape)


def _reconstruct(*_arguments: object) -> _Array:
    return _Array()


def _encode(text: object, encoding: object = "") -> bytes:
    if not isinstance(text, str) or encoding not in ("latin1", b"latin1"):
        raise BadData("bytes are written in an unusual way")
    return text.encode("latin1")


class _Restricted(pickle.Unpickler):
    NAMES = {  # noqa: RUF012
        ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
        ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
        ("numpy", "ndarray"): _Array,
        ("numpy", "dtype"): _Dtype,
        ("_codecs", "encode"): _encode,
    }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self.NAMES:
            raise BadData(f"asks for {module}.{name}, which no CIFAR-10 batch needs: refused, nothing was run")
        return self.NAMES[module, name]
