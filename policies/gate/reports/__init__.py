"""The formats of a report: one module each, with `render(outcome) -> str`. Their names are the values of --format."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
from pathlib import Path

from gate.model import Outcome

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def formats() -> list[str]:
    """The known formats: the modules of this package."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def render(name: str, outcome: Outcome) -> str:
    """The report of an outcome in a format."""
    text: str = importlib.import_module(f"{__name__}.{name}").render(outcome)
    return text


def clean(text: str) -> str:
    """Values come from a pull request: no control character of theirs reaches a terminal or makes a line of its own."""
    return _CONTROL.sub("�", text.replace("\n", " "))


def shown(root: Path, file: Path | None) -> str:
    """A file as reports name it: relative to the repository, absolute where it lies outside."""
    if file is None:
        return ""
    absolute = Path(os.path.normpath(file.absolute()))
    for base in (root, root.resolve()):
        if absolute.is_relative_to(base):
            return str(absolute.relative_to(base))
    return str(absolute)
