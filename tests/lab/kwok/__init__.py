"""KWOK, which pretends nodes: the version stands in go.mod beside this file."""

from __future__ import annotations

import functools
from pathlib import Path

from rich.console import Console

from gate import tools

HERE = Path(__file__).resolve().parent


def binary() -> Path:
    """The program, built if it is missing. Raises GateError where that cannot be done."""
    target = tools.pinned(HERE, "kwok")
    make = functools.partial(tools.build, HERE, "sigs.k8s.io/kwok/cmd/kwok")
    tools.once(Console(stderr=True), "build KWOK (once for each version)", target, make)
    return target
