"""Builds the oracle (main.go) against each version of Kubeflow Trainer, once, and talks to it."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console

from gate import process, tools

HERE = Path(__file__).resolve().parent
VERSIONS = sorted(path.parent.name for path in HERE.glob("*/go.mod"))


def binary(version: str) -> Path:
    """The oracle for one version of Trainer, built if it is missing. Raises GateError where that cannot be done."""
    sources = (HERE / "main.go", HERE / version / "go.mod", HERE / version / "go.sum")
    digest = hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    target = tools.cache() / "bin" / f"oracle-{version}-{digest}"
    tools.once(Console(stderr=True), f"build Trainer {version} as an oracle (once)", target, functools.partial(_build, sources))
    return target


def _build(sources: tuple[Path, ...], target: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        for source in sources:
            shutil.copy(source, name)
        command: list[str | Path] = [tools.go(), "build", "-mod=readonly", "-trimpath", "-ldflags=-s -w", "-o", target, "."]
        environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "", "GOWORK": "off"}
        process.run(command, cwd=Path(name), env=environment, timeout=3600)


class Oracle:
    """One running oracle: a question and an answer a line."""

    def __init__(self, version: str) -> None:
        self.version = version
        self._process = subprocess.Popen([binary(version)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def __enter__(self) -> Oracle:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None) -> None:
        self._process.communicate()

    def ask(self, train_job: dict[str, Any], runtime: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """The objects that Trainer makes, by kind; an AssertionError with its words where it makes none."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"trainJob": train_job, "runtime": runtime}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline() or '{"error": "the oracle died"}')
        assert "error" not in answer, f"Trainer {self.version}: {answer['error']}"
        return {made["kind"]: made for made in answer["objects"]}
