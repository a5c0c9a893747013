"""What remains of a run beside its checkpoints, written by worker 0: run.json, code/, history.jsonl, tensorboard/."""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from config import Config
from model import keras_version

CODE = Path(__file__).resolve().parent


def describe(config: Config, *, workers: int, replicas: int, precision: str, data_sha256: str) -> dict[str, Any]:
    """Everything that one must know to repeat the run."""
    code = hashlib.sha256()
    for file in sorted(CODE.glob("*.py")):
        code.update(file.name.encode() + b"\0" + file.read_bytes())
    versions = {"python": platform.python_version(), "tensorflow": tf.__version__, "keras": keras_version()}
    devices = [gpu.name for gpu in tf.config.list_physical_devices("GPU")] or ["CPU"]
    return {
        "config": asdict(config),
        "workers": workers,
        "replicas": replicas,
        "precision": precision,
        "devices": devices,
        "versions": {**versions, "numpy": np.__version__},
        "code_sha256": code.hexdigest(),
        "data_sha256": data_sha256,
    }


class Journal:
    """Does nothing on the other workers."""

    def __init__(self, directory: str, *, chief: bool) -> None:
        self.root = Path(directory) if chief else None
        self.writer: Any = None

    def open(self, description: dict[str, Any], finished_epochs: int) -> None:
        """Begin, or go on after the given number of epochs: what was noted beyond them is forgotten."""
        if not self.root:
            return
        self.root.mkdir(parents=True, exist_ok=True)
        (self.root / "run.json").write_text(json.dumps(description, indent=1) + "\n")
        (self.root / "code").mkdir(exist_ok=True)
        for file in CODE.glob("*.py"):
            shutil.copyfile(file, self.root / "code" / file.name)
        history = self.root / "history.jsonl"
        lines = history.read_text().splitlines() if history.exists() else []
        history.write_text("".join(f"{line}\n" for line in lines if json.loads(line)["epoch"] <= finished_epochs))
        self.writer = tf.summary.create_file_writer(str(self.root / "tensorboard"))

    def epoch(self, number: int, step: int, values: Mapping[str, float]) -> None:
        """One finished epoch: a line in the history, a point in TensorBoard."""
        if not self.root:
            return
        with (self.root / "history.jsonl").open("a") as history:
            history.write(json.dumps({"epoch": number, "step": step, **values}) + "\n")
        with self.writer.as_default(step=step):
            for name, value in values.items():
                _scalar(name, value)
        self.writer.flush()


def _scalar(name: str, value: float) -> None:
    """tf.summary.scalar without the package tensorboard, which TensorFlow 2.21 no longer brings along."""
    metadata = tf.compat.v1.SummaryMetadata(
        plugin_data=tf.compat.v1.SummaryMetadata.PluginData(plugin_name="scalars"),
        data_class=1,  # scalar
    )
    tf.summary.write(name, tf.constant(value, tf.float32), metadata=metadata)
