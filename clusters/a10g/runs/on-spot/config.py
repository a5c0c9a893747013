"""The run's configuration: every environment variable of the training, checked before TensorFlow is loaded."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DATA = "/workspace/data/cifar-10-batches-py"
CHECKPOINTS = "/workspace/checkpoints"
MODELS = ("resnet9", "cnn")
PRECISIONS = ("auto", "float32", "mixed_float16", "mixed_bfloat16", "float64")  # the last one to compare runs
AUGMENTATIONS = ("crop", "flip", "cutout")


class BadConfiguration(ValueError):
    """At least one value cannot be used; the message is one line and names them all."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """What decides the result. Two workers of a job must have the same, see loop.take_census."""

    epochs: int = 10
    batch_size: int = 64  # per replica
    data_dir: str = DATA
    data_sha256: str = ""  # empty: reported, not enforced
    checkpoint_dir: str = f"{CHECKPOINTS}/local"
    checkpoint_steps: int = 0  # 0: at the end of each epoch only
    model: str = "resnet9"
    learning_rate: float = 0.2  # for a global batch of 256; scaled in proportion
    warmup: float = 0.2  # share of all steps
    weight_decay: float = 5e-4
    label_smoothing: float = 0.1
    dropout: float = 0.2
    augment: tuple[str, ...] = AUGMENTATIONS
    precision: str = "auto"
    seed: int = 1
    image: str = ""  # recorded only

    @classmethod
    def read(cls, env: Mapping[str, str] = os.environ) -> Config:
        """Raises BadConfiguration with all faults in one line."""
        faults: list[str] = []
        fresh = cls()

        def number(name: str, default: float, low: float, high: float, *, whole: bool = False) -> float:
            text = env.get(name)
            if text is None:
                return default
            pattern = r"[0-9]{1,12}" if whole else r"[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?"
            value = float(text) if re.fullmatch(pattern, text) else math.nan
            if not low <= value <= high:
                kind = "whole number" if whole else "number"
                faults.append(f"{name}={text!r} must be a {kind} from {low} to {high}")
                return default
            return value

        def choice(name: str, default: str, allowed: tuple[str, ...]) -> str:
            value = env.get(name, default)
            if value not in allowed:
                faults.append(f"{name}={value!r} must be one of {', '.join(allowed)}")
            return value

        def folder(name: str, default: str) -> str:
            value = env.get(name, default)
            if not Path(value).is_absolute():
                faults.append(f"{name}={value!r} must be an absolute path")
            return value

        wanted = env.get("AUGMENT")
        augment = fresh.augment if wanted is None else tuple(part for part in wanted.split(",") if part != "none")
        if set(augment) - set(AUGMENTATIONS):
            faults.append(f"AUGMENT={wanted!r} must be none or a list of {', '.join(AUGMENTATIONS)}")
        digest = env.get("DATA_SHA256", "")
        if not re.fullmatch(r"([0-9a-f]{64})?", digest):
            faults.append(f"DATA_SHA256={digest!r} must be 64 hexadecimal digits")
        config = cls(
            epochs=int(number("EPOCHS", fresh.epochs, 1, 100_000, whole=True)),
            batch_size=int(number("BATCH_SIZE", fresh.batch_size, 1, 65_536, whole=True)),
            data_dir=folder("DATA_DIR", fresh.data_dir),
            data_sha256=digest,
            # The job's name, which tfrun exports, keeps a run from resuming another's checkpoints.
            checkpoint_dir=folder("CHECKPOINT_DIR", f"{CHECKPOINTS}/{env.get('TFRUN_JOB', 'local')}"),
            checkpoint_steps=int(number("CHECKPOINT_STEPS", fresh.checkpoint_steps, 0, 10**9, whole=True)),
            model=choice("MODEL", fresh.model, MODELS),
            learning_rate=number("LEARNING_RATE", fresh.learning_rate, 1e-8, 100),
            warmup=number("WARMUP", fresh.warmup, 0, 1),
            weight_decay=number("WEIGHT_DECAY", fresh.weight_decay, 0, 1),
            label_smoothing=number("LABEL_SMOOTHING", fresh.label_smoothing, 0, 0.9),
            dropout=number("DROPOUT", fresh.dropout, 0, 0.9),
            augment=augment,
            precision=choice("PRECISION", fresh.precision, PRECISIONS),
            seed=int(number("SEED", fresh.seed, 0, 2**31 - 1, whole=True)),
            image=env.get("TRAIN_IMAGE", ""),
        )
        if faults:
            raise BadConfiguration("; ".join(faults))
        return config
