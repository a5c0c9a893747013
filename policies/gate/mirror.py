"""A copy of all files that a build reads, in which they can be changed: what comes out then tells about the build."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from gate import kustomization, process
from gate.model import GateError

_MOST_BYTES = 64 * 1024 * 1024


class Mirror:
    """The copy of a folder's build below `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def at(self, path: Path) -> Path:
        """Where the copy of a file or folder is."""
        return self.root / path.relative_to(path.anchor)

    def write(self, path: Path, content: bytes) -> None:
        target = self.at(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


@contextlib.contextmanager
def mirrored(folder: Path) -> Iterator[Mirror]:
    """Copies what the build of a folder reads, for as long as the context lasts. Raises GateError where that is too much."""
    size = 0
    with tempfile.TemporaryDirectory(dir=process.scratch()) as name:
        mirror = Mirror(Path(name).resolve())
        for file in dict.fromkeys(file for layer in kustomization.walk(folder) for file in kustomization.read(layer)):
            if not file.is_file():
                continue
            size += file.stat().st_size
            if size > _MOST_BYTES:
                raise GateError("reads too much to be copied", file=folder)
            mirror.write(file, file.read_bytes())
        yield mirror
