"""The estate's own lines: whoever edits the line that the gate names changes the value, and so it is said in a report."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gate import locate, render
from gate.model import Fault, FieldPath, Resource, Unit, get
from tests.command import report
from tests.conftest import ROOT
from tests.edit import edit_file, line_of

BUILDS = sorted(
    str(path.relative_to(ROOT))
    for pattern in ("overlays/*", "clusters/*/runtimes", "clusters/*/argocd", "clusters/*/queues", "clusters/*/runs/*")
    for path in ROOT.glob(pattern)
    if (path / "kustomization.yaml").is_file()
)
# What kustomize or the estate selects objects and list elements by: editing it changes what else is applied.
SELECTING = {"apiVersion", "kind", "name", "namespace", "mountPath", "labels"}


def values(value: Any, path: FieldPath = ()) -> Iterator[tuple[FieldPath, str]]:
    """The texts of an object, without those that others are selected by."""
    if isinstance(value, dict):
        for key, child in value.items():
            if key not in SELECTING:
                yield from values(child, (*path, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from values(child, (*path, index))
    elif isinstance(value, str) and re.fullmatch(r"[\w.:/-]+", value):
        yield path, value


def rendered(folder: Path) -> list[Resource]:
    built = render.render(Unit(path=folder, kustomization=True))
    assert built.problems == []
    return built.resources


@pytest.mark.parametrize("build", BUILDS)
def test_editing_the_line_that_is_named_changes_the_value(build: str, estate: Path) -> None:
    """Every such line of a build is edited at once, each by a word of its own, and kustomize says what came of it."""
    before = rendered(estate / build)
    words: dict[tuple[Path, int], str] = {}
    expected: dict[tuple[int, FieldPath], tuple[str, Path, int]] = {}
    for number, resource in enumerate(before):
        for path, value in values(resource.manifest):
            place = locate.locate(Fault(rule="", message="", resource=resource, path=path))
            lines = place.file.read_text(encoding="utf-8").splitlines(keepends=True)
            if place.file.suffix != ".yaml" or not re.search(rf"(?<![\w.-]){re.escape(value)}(?![\w.-])", lines[place.line - 1]):
                continue  # a text that is put together
            expected[(number, path)] = (value, place.file, place.line)
    assert len(expected) > 3
    for number, (value, file, line) in enumerate(expected.values()):
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        words.setdefault((file, line), f"edit{number}z")
        lines[line - 1] = re.sub(rf"(?<![\w.-]){re.escape(value)}(?![\w.-])", words[(file, line)], lines[line - 1], count=1)
        file.write_text("".join(lines), encoding="utf-8")
    for cache in (render.render, render.build):
        cache.cache_clear()
    after = render.build(estate / build)
    missed = [
        f"{file.relative_to(estate)}:{line} does not set {path} of {before[number]}"
        for (number, path), (_, file, line) in expected.items()
        if words[(file, line)] not in str(get(after[number], path))
    ]
    assert missed == []
