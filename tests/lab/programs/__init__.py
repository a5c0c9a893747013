"""Programs that only tests in the lab need: each one's version stands in the go.mod of its folder."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from rich.console import Console

from gate import tools

HERE = Path(__file__).resolve().parent


def binary(name: str) -> Path:
    """The program of a folder, built if it is missing. Raises GateError where that cannot be done."""
    folder = HERE / name
    (package,) = re.findall(r"^tool (\S+)$", (folder / "go.mod").read_text(encoding="utf-8"), re.MULTILINE)
    target = tools.pinned(folder, name)
    tools.once(Console(stderr=True), f"build {name} (once for each version)", target, functools.partial(tools.build, folder, package))
    return target
