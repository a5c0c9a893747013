"""Damaged and hostile data sets, each read by training/data.py: prints {case: message} as JSON.

Runs in a TensorFlow environment, as numpy is not in the gate's: data_cases.py CODE SCRATCH.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from batches import NAMES, batch, write


class Evil:
    """A pickle of it calls what it is told to when it is loaded."""

    def __init__(self, *call: Any) -> None:
        self.call = call

    def __reduce__(self) -> Any:
        return self.call[0], self.call[1:]


def cases(proof: Path) -> dict[str, bytes]:
    """Contents of one file. What would run code makes the file proof."""

    def but(**changes: Any) -> bytes:
        return pickle.dumps({**batch(), **{key.encode(): value for key, value in changes.items()}}, protocol=2)

    whole = pickle.dumps(batch(), protocol=2)
    return {
        "system": pickle.dumps(Evil(os.system, f"touch {proof}"), protocol=2),
        "inside": but(labels=[Evil(os.system, f"touch {proof}")] * 64),
        "eval": pickle.dumps(Evil(eval, f"open({str(proof)!r}, 'w')"), protocol=2),
        "numpy load": pickle.dumps(Evil(np.fromfile, str(proof)), protocol=2),
        "getattr": b"cbuiltins\ngetattr\n(cposix\nsystem\nX\x04\x00\x00\x00nametR.",
        "codec": b"c_codecs\nencode\n(X\x01\x00\x00\x00aX\x03\x00\x00\x00hextR.",
        "truncated": whole[: len(whole) // 2],
        "empty": b"",
        "text": b"<html>404 Not Found</html>",
        "list": pickle.dumps([1, 2], protocol=2),
        "cifar-100": pickle.dumps({b"data": batch()[b"data"], b"fine_labels": [0] * 64}, protocol=2),
        "shape": but(data=np.zeros((64, 3071), np.uint8)),
        "floats": but(data=np.zeros((64, 3072), np.float32)),
        "objects": but(data=np.array([[None] * 3072] * 64, dtype=object)),
        "labels": but(labels=[0] * 63),
        "label": but(labels=[0] * 63 + [10]),
    }


def message(call: Callable[[], Any]) -> str:
    """What data.py says about it; "" if it accepts it."""
    import data

    try:
        call()
    except data.BadData as error:
        return str(error)
    return ""


def main(code: str, scratch: Path) -> None:
    sys.path.insert(0, code)
    import data

    proof = scratch / "code-was-run"
    said = {name: message(partial(data.decode, raw, "FILE")) for name, raw in cases(proof).items()}
    whole = write(scratch / "whole")
    read = data.read(str(whole))
    first = batch(seed=0)
    np.testing.assert_array_equal(read.train.images[:64], first[b"data"].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
    assert read.train.labels[:64].tolist() == first[b"labels"]
    assert (read.train.images.shape, read.test.images.shape) == ((320, 32, 32, 3), (64, 32, 32, 3))
    said["no folder"] = message(lambda: data.read(str(scratch / "nowhere")))
    said["checksum"] = message(lambda: data.read(str(whole), "0" * 64)).replace(read.sha256, "SUM")
    said["right checksum"] = message(lambda: data.read(str(whole), read.sha256))
    for protocol in (0, 1, 2, 3, 4):
        raw = io.BytesIO()
        pickle.dump(batch(), raw, protocol=protocol)
        said[f"protocol {protocol}"] = message(partial(data.decode, raw.getvalue(), "FILE"))
    (whole / NAMES[2]).unlink()
    said["no file"] = message(lambda: data.read(str(whole)))
    said["run"] = str(proof.exists())
    print(json.dumps({name: text.replace(str(scratch), "SCRATCH") for name, text in said.items()}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
