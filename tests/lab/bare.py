"""Throwaway labs: a lab's Kubernetes with nothing deployed, beside the lab that the other tests share."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from lab import up as engine
from lab.model import Lab
from tests.lab.conftest import can_hold_a_lab


@contextlib.contextmanager
def throwaway(root: Path) -> Iterator[Lab]:
    """A lab of its own, not started; nothing of it is left afterwards. Skips or fails the test where the machine cannot hold one."""
    can_hold_a_lab()
    lab = Lab(root=root)
    try:
        yield lab
    finally:
        engine.down(lab)
        shutil.rmtree(lab.state)


def start(lab: Lab) -> None:
    engine.up(lab, Console(stderr=True), deploy=False)
