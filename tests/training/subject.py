"""training/ as the tests see it: plain modules in a folder, as in the pod. Imported from their files, not by a path."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

TRAINING = Path(__file__).resolve().parents[2] / "training"


def load(name: str) -> ModuleType:
    """A module of training/ that needs nothing but the standard library."""
    qualified = f"training_{name}"
    if qualified not in sys.modules:
        spec = importlib.util.spec_from_file_location(qualified, TRAINING / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module = sys.modules[qualified] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[qualified]


tfrun = load("tfrun")
