"""The programs that the lab runs, built once from the Go modules that clusters/lab/modules pins."""

from __future__ import annotations

import functools
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from gate import process, tools
from lab.model import HERE, LabError

_PREFIXED = {"volcano"}  # whose programs have names that say too little


@dataclass(frozen=True, kw_only=True, slots=True)
class Module:
    """One folder of clusters/lab/modules: a version of one project, and the programs that are built from it."""

    name: str
    path: str
    version: str
    packages: tuple[str, ...]

    @property
    def folder(self) -> Path:
        return HERE / "modules" / self.name

    @property
    def programs(self) -> dict[str, str]:
        """Name of each program → its package."""
        if len(self.packages) == 1 and "/cmd/" not in self.packages[0]:
            return {self.name: self.packages[0]}
        names = {package.rpartition("/")[2]: package for package in self.packages}
        return {f"{self.name}-{name}": package for name, package in names.items()} if self.name in _PREFIXED else names

    @property
    def linked(self) -> str:
        """Kubernetes learns its version when it is linked; Kueue does not start on one that calls itself v0.0.0."""
        if self.name != "kubernetes":
            return ""
        major, minor = self.version.removeprefix("v").split(".")[:2]
        version = "k8s.io/component-base/version"
        known = {"gitVersion": self.version, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
        return " ".join(f"-X {version}.{name}={value}" for name, value in known.items())

    def sources(self) -> Path:
        """The module's own files, fetched if need be and checked against go.sum."""
        told = process.run([tools.go(), "list", "-m", "-json", self.path], cwd=self.folder, env=_environment(), timeout=60)
        if "Dir" not in json.loads(told):
            process.run([tools.go(), "mod", "download", self.path], cwd=self.folder, env=_environment(), timeout=900)
            told = process.run([tools.go(), "list", "-m", "-json", self.path], cwd=self.folder, env=_environment(), timeout=60)
        return Path(json.loads(told)["Dir"])


@functools.cache
def modules() -> dict[str, Module]:
    """All pinned modules by name, read from their go.mod files."""
    return {file.parent.name: _module(file) for file in sorted(HERE.glob("modules/*/go.mod"))}


def build(console: Console) -> None:
    """Builds what is missing, kubernetes first: half an hour on two cores, once for each version."""
    for module in modules().values():
        for name in module.programs:
            made(name, console)


def made(name: str, console: Console) -> Path:
    """A program, built now if it is missing."""
    module = _owner(name)
    make = functools.partial(tools.build, module.folder, module.programs[name], linked=module.linked)
    tools.once(console, f"build {name} {module.version} (once for each version)", _target(name), make)
    return _target(name)


def missing() -> list[str]:
    return [name for module in modules().values() for name in module.programs if not _target(name).exists()]


def binary(name: str) -> Path:
    """A built program. Raises LabError where it is missing."""
    path = _target(name)
    if not path.exists():
        raise LabError(f"{name} is not built: run `lab build`")
    return path


def _target(name: str) -> Path:
    return tools.pinned(_owner(name).folder, name)


def _owner(name: str) -> Module:
    module = next((each for each in modules().values() if name in each.programs), None)
    if not module:
        raise LabError(f"no module in clusters/lab/modules builds {name}")
    return module


def _module(file: Path) -> Module:
    text = file.read_text(encoding="utf-8")
    packages = tuple(re.findall(r"^(?:tool |\t)([^\s()]+)$", text, re.MULTILINE))
    owner = packages[0]
    required = re.findall(r"^(?:require |\t)(\S+) (v\S+)", text, re.MULTILINE)
    path, version = max((each for each in required if f"{owner}/".startswith(f"{each[0]}/")), key=lambda each: len(each[0]))
    return Module(name=file.parent.name, path=path, version=version, packages=packages)


def _environment() -> dict[str, str]:
    return {**os.environ, "GOFLAGS": "-mod=readonly"}
