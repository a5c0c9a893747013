"""A Kueue that knows the TrainJobs of Trainer 2.1 and no later ones: the version stands in go.mod beside this file."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from rich.console import Console

from gate import tools

HERE = Path(__file__).resolve().parent
VERSION = re.findall(r"sigs.k8s.io/kueue v(\S+)", (HERE / "go.mod").read_text(encoding="utf-8"))[0]


def binary() -> Path:
    """The program, built if it is missing: some minutes. Raises GateError where that cannot be done."""
    target = tools.pinned(HERE, "kueue")
    make = functools.partial(tools.build, HERE, "sigs.k8s.io/kueue/cmd/kueue")
    tools.once(Console(stderr=True), "build Kueue 0.16 (once)", target, make)
    return target
