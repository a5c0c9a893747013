"""Throwaway labs: a lab's Kubernetes with nothing deployed, beside the lab that the other tests share."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from lab import doctor
from lab import up as engine
from lab.model import Lab


@contextlib.contextmanager
def throwaway(root: Path) -> Iterator[Lab]:
    """A lab of its own, not started; nothing of it is left afterwards. Skips or fails the test where the machine cannot hold one."""
    if faults := doctor.faults():
        reason = "; ".join(faults)
        pytest.fail(reason) if os.environ.get("LAB") == "required" else pytest.skip(reason)
    lab = Lab(root=root)
    try:
        yield lab
    finally:
        engine.down(lab)
        shutil.rmtree(lab.state)


def start(lab: Lab) -> None:
    engine.up(lab, Console(stderr=True), deploy=False)
