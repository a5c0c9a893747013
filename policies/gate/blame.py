"""Where a build fails: the innermost kustomization that does, and the first of its entries without which it does not."""

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
    "patchesJson6902",
    "images",
    "replacements",
    "transformers",
)
_Entry = tuple[Layer, str, int]


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
    with contextlib.suppress(GateError, OSError, ValueError):
        outermost = kustomization.layer(folder.resolve())
        entries = list(_entries(outermost))
        with mirror.mirrored(folder) as copied:
            first = _first_failing(folder.resolve(), entries, copied, build)
        if first:
            this, field, index = first
            return Place(file=this.file, line=this.document.line((field, index)))
        for quoted in re.findall(r"'([^'\n]{1,200})'|\"([^\"\n]{1,200})\"|File: (\S{1,200})", words):
            file = (outermost.folder / next(filter(None, quoted), "")).resolve()
            if file.is_file():
                return Place(file=file)
    return None


def _entries(this: Layer) -> Iterator[_Entry]:
    """What a layer and its components apply, in that order."""
    for field in _FIELDS:
        listed = this.value.get(field)
        for index, entry in enumerate(listed if isinstance(listed, list) else []):
            yield this, field, index
            if field == "components" and isinstance(entry, str) and (this.folder / entry).is_dir():
                yield from _entries(kustomization.layer((this.folder / entry).resolve()))


def _first_failing(folder: Path, entries: Sequence[_Entry], copied: mirror.Mirror, build: Callable[[Path], Any]) -> _Entry | None:
    """The first entry with which, after all before it, the build fails; None where it fails without any."""

    def fails(count: int) -> bool:
        kept: dict[Path, set[tuple[str, int]]] = {folder: set(), **{this.folder: set() for this, _, _ in entries}}
        for this, field, index in entries[:count]:
            kept[this.folder].add((field, index))
        for each, applied in kept.items():
            this = kustomization.layer(each)
            value = copy.deepcopy(this.value)
            for field in _FIELDS:
                if isinstance(value.get(field), list):
                    value[field] = [entry for index, entry in enumerate(value[field]) if (field, index) in applied]
            copied.write(this.file, json.dumps(value, ensure_ascii=False).encode())
        try:
            build(copied.at(folder))
        except GateError:
            return True
        return False

    if not entries or fails(0):
        return None
    works, broken = 0, len(entries)
    while broken - works > 1:
        middle = (works + broken) // 2
        works, broken = (works, middle) if fails(middle) else (middle, broken)
    return entries[broken - 1]
