"""Which entry of a kustomization does something: kustomize is asked, with the entries left away from the last to the first.

Where a build fails it is the first without which it does not, in the innermost kustomization that fails.
"""

from __future__ import annotations

import contextlib
import copy
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from gate import kustomization, mirror
from gate.kustomization import Layer
from gate.model import GateError, Place

# In the order in which kustomize applies them.
_FIELDS = (
    "configMapGenerator",
    "secretGenerator",
    "generators",
    "components",
    "patchesStrategicMerge",
    "patches",
    "labels",
    "patchesJson6902",
    "replicas",
    "images",
    "replacements",
    "transformers",
)
# The kustomization, the field, and the index in it.
Entry = tuple[Layer, str, int]


def innermost(folder: Path, build: Callable[[Path], Any]) -> GateError | None:
    """The error of a kustomization below a folder that does not build either."""
    for below in kustomization.layer(folder.resolve()).resources:
        if below.is_dir():
            try:
                build(below)
            except GateError as error:
                return error
    return None


def place(folder: Path, words: str, build: Callable[[Path], Any]) -> Place | None:
    """The entry that makes the build of a folder fail, or the file that kustomize names."""

    def fails(at: Path) -> bool:
        try:
            build(at)
        except GateError:
            return True
        return False

    with contextlib.suppress(GateError, OSError, ValueError):
        if found := entry(folder, fails):
            this, field, index = found
            return Place(file=this.file, line=this.document.line((field, index)))
        for quoted in re.findall(r"'([^'\n]{1,200})'|\"([^\"\n]{1,200})\"|File: (\S{1,200})", words):
            file = (folder.resolve() / next(filter(None, quoted), "")).resolve()
            if file.is_file():
                return Place(file=file)
    return None


def entry(folder: Path, holds: Callable[[Path], bool]) -> Entry | None:
    """The first entry of a kustomization, or of its components, with which something holds for a copy of it.

    None where it holds without any of them. Raises GateError where the kustomization cannot be read.
    """
    outermost = kustomization.layer(folder.resolve())
    entries = list(_entries(outermost))
    with mirror.mirrored(folder) as copied:

        def holds_with(count: int) -> bool:
            _leave(entries, entries[:count], copied)
            return holds(copied.at(outermost.folder))

        if not entries or holds_with(0):
            return None
        without, included = 0, len(entries)
        while included - without > 1:
            middle = (without + included) // 2
            without, included = (without, middle) if holds_with(middle) else (middle, included)
    return entries[included - 1]


def _entries(this: Layer) -> Iterator[Entry]:
    """What a layer and its components apply, in that order."""
    for field in _FIELDS:
        listed = this.value.get(field)
        for index, entry in enumerate(listed if isinstance(listed, list) else []):
            yield this, field, index
            if field == "components" and isinstance(entry, str) and (this.folder / entry).is_dir():
                yield from _entries(kustomization.layer((this.folder / entry).resolve()))


def _leave(entries: Sequence[Entry], kept: Sequence[Entry], copied: mirror.Mirror) -> None:
    """Writes the kustomizations of the copy with some of their entries only."""
    left = {(this.folder, field, index) for this, field, index in kept}
    for this in {this.folder: this for this, _, _ in entries}.values():
        value = copy.deepcopy(this.value)
        for field in _FIELDS:
            if isinstance(value.get(field), list):
                value[field] = [each for index, each in enumerate(value[field]) if (this.folder, field, index) in left]
        copied.write(this.file, json.dumps(value, ensure_ascii=False).encode())
