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
    target = tools.pinned(HERE / name, name)
    make = functools.partial(tools.build, HERE / name, _package(name))
    tools.once(Console(stderr=True), f"build {name} {version(name)} (once for each version)", target, make)
    return target


def version(name: str) -> str:
    """Of the module that the program is in, without the v."""
    return next(found for module, found in _required(name) if f"{_package(name)}/".startswith(f"{module}/"))


def _package(name: str) -> str:
    (package,) = re.findall(r"^tool (\S+)$", _pinned(name), re.MULTILINE)
    return str(package)


def _required(name: str) -> list[tuple[str, str]]:
    return re.findall(r"^(?:\t|require )(\S+) v(\S+)", _pinned(name), re.MULTILINE)


def _pinned(name: str) -> str:
    return (HERE / name / "go.mod").read_text(encoding="utf-8")
