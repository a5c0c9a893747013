"""The data set is read without running anything in it, and what is wrong with it is said in one line."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
REFUSED = "which no CIFAR-10 batch needs: refused, nothing was run"


@pytest.mark.tensorflow
def test_damaged_and_hostile_files(tensorflow: str, training: Path, tmp_path: Path) -> None:
    command = [tensorflow, str(HERE / "data_cases.py"), str(training), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said.pop("run") == "False"
    broken = {name: said.pop(name) for name in ("truncated", "empty", "text")}
    for text in broken.values():
        assert text.startswith("FILE: not a complete CIFAR-10 batch (") and text.endswith("Truncated?")
    fromfile = said.pop("numpy load")
    assert fromfile.endswith(f"fromfile, {REFUSED}")
    assert said == {
        "system": f"FILE: asks for posix.system, {REFUSED}",
        "inside": f"FILE: asks for posix.system, {REFUSED}",
        "eval": f"FILE: asks for __builtin__.eval, {REFUSED}",
        "getattr": f"FILE: asks for builtins.getattr, {REFUSED}",
        "codec": "FILE: bytes are written in an unusual way",
        "list": "FILE: holds a list, not a CIFAR-10 batch",
        "cifar-100": "FILE: lacks data or labels; CIFAR-100 and batches.meta are other files",
        "shape": "FILE: data has shape (64, 3071), expected (images, 3072)",
        "floats": "FILE: data is not an array of unsigned bytes",
        "objects": "FILE: data is not an array of unsigned bytes",
        "labels": "FILE: 64 images but 63 labels",
        "label": "FILE: a label is not a whole number from 0 to 9",
        "no folder": "DATA_DIR=SCRATCH/nowhere: no such folder. Is the volume with CIFAR-10's python batches mounted there?",
        "no file": "DATA_DIR=SCRATCH/whole: no file data_batch_3. It must be the unpacked cifar-10-batches-py",
        "checksum": f"DATA_DIR=SCRATCH/whole has checksum SUM, DATA_SHA256 asks for {'0' * 64}",
        "right checksum": "",
        **{f"protocol {number}": "" for number in range(5)},
    }
