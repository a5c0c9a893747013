"""Waiting for what is really ready, with a deadline and a word about what is waited for."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from lab.model import LabError, tail


def until(console: Console, what: str, reason: Callable[[], str], *, seconds: float, log: Path | str) -> None:
    """Returns once `reason` says nothing more. Raises LabError with the last reason and the log to read after the deadline."""
    deadline = time.monotonic() + seconds
    begun = time.monotonic()
    with console.status(f"wait for {what} …") as status:
        while why := reason():
            if time.monotonic() > deadline:
                more = tail(log) if isinstance(log, Path) else ""
                raise LabError(f"{what}: not there after {seconds:.0f} s: {why}: read {log}{more}")
            status.update(f"wait for {what}: {' '.join(why.split())[:100]} …")
            time.sleep(0.3)
    console.print(f"{what}: ready after {time.monotonic() - begun:.0f} s", highlight=False)
