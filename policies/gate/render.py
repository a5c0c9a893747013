"""Renders units: a kustomization by the real kustomize, a plain YAML file as it stands."""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gate import blame, facts, kustomization, parts, process, source, tools
from gate.model import Fault, GateError, Place, Problem, Resource, Unit

YAML_SUFFIXES = (".yaml", ".yml")
MANIFEST_SUFFIXES = (*YAML_SUFFIXES, ".json")
SELF_CONTAINED = "run/self-contained"
_SECONDS = 60
ORIGIN = "config.kubernetes.io/origin"


@functools.lru_cache(maxsize=1024)
def units(folder: Path) -> tuple[Unit, ...]:
    """What is built by itself at a path: a file, a kustomization, or everything outermost below a plain folder.

    A kustomization that another one below the same folder already includes is not a unit of its own, and components
    are none; neither are a cluster's facts. Raises GateError where there is nothing to build.
    """
    if not folder.exists():
        raise GateError("does not exist", file=folder)
    if folder.is_file():
        return (Unit(path=folder, kustomization=False),)
    if kustomization.kustomization_file(folder):
        return (Unit(path=folder, kustomization=True),)
    kustomizations = [path for path in _folders(folder) if kustomization.kustomization_file(path)]
    included = set[Path]()
    for path in kustomizations:
        this = _layer_or_none(path)
        if this:
            included |= {below for below in (*this.resources, *this.components) if below != path}
            if this.is_component:
                included.add(path)
    found = [Unit(path=path, kustomization=True) for path in kustomizations if path.resolve() not in included]
    claimed = {path.resolve() for path in kustomizations}
    for path in _folders(folder):
        if not any(parent in claimed for parent in (path.resolve(), *path.resolve().parents)):
            plain = sorted(file for file in path.iterdir() if file.is_file() and _is_manifest(file))
            found += [Unit(path=file, kustomization=False) for file in plain if file.name != facts.FILE_NAME]
    if not found:
        raise GateError("holds nothing to check: no kustomization and no manifest", file=folder)
    return tuple(found)


def _is_manifest(file: Path) -> bool:
    """Whether a file of a plain folder holds objects: every YAML file; JSON, which has other uses, where it says so itself."""
    if file.suffix != ".json":
        return file.suffix in YAML_SUFFIXES
    if file.stat().st_size > source.MAX_BYTES:
        return False
    try:
        text = source.read_text(file)
        if '"apiVersion"' not in text or '"kind"' not in text:
            return False
        return all(isinstance(each.value, dict) and {"apiVersion", "kind"} <= each.value.keys() for each in source.load(file))
    except GateError:
        return True  # it is reported when the unit is rendered


def _folders(folder: Path) -> Iterator[Path]:
    for path, names, _ in os.walk(folder):
        names[:] = sorted(name for name in names if not name.startswith("."))
        yield Path(path)


def _layer_or_none(path: Path) -> kustomization.Layer | None:
    try:
        return kustomization.layer(path.resolve())
    except (GateError, OSError, ValueError, TypeError, RuntimeError):
        return None  # it is reported when the unit is rendered


class Rendered:
    """What one unit came to: its objects, or why there are none."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.resources: list[Resource] = []
        self.faults: list[Fault] = []
        self.problems: list[Problem] = []


def render_all(wanted: Iterable[Unit]) -> dict[Unit, Rendered]:
    """Renders units side by side; order and errors are kept with each."""
    unique = list(dict.fromkeys(wanted))
    with concurrent.futures.ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        return dict(zip(unique, pool.map(render, unique), strict=True))


@functools.lru_cache(maxsize=1024)
def render(unit: Unit) -> Rendered:
    """Renders one unit. What a person has to mend first is in its problems; nothing is raised."""
    rendered = Rendered(unit)
    try:
        if unit.kustomization:
            _kustomization(unit, rendered)
        else:
            _plain(unit, rendered)
    except GateError as error:
        rendered.problems.append(Problem.of(error))
    except (OSError, ValueError, TypeError, AttributeError, KeyError, RuntimeError, MemoryError) as error:
        # a name that no file system takes, a field of a shape that kustomize does not have: hostile, not ours to mend
        reason = (str(error) or type(error).__name__).splitlines()[0]
        rendered.problems.append(Problem(message=f"cannot be read: {reason[:200]}", file=unit.path))
    return rendered


def _plain(unit: Unit, rendered: Rendered) -> None:
    for index, document in enumerate(source.load(unit.path)):
        for manifest in objects(document.value, unit.path, document.line()):
            rendered.resources.append(Resource(manifest=manifest, unit=unit, document=index))
    if not rendered.resources:
        raise GateError("holds no object", file=unit.path)


def _kustomization(unit: Unit, rendered: Rendered) -> None:
    layers = kustomization.walk(unit.path)
    for this in layers:
        rendered.faults += kustomization.reaching_out(this)
        if is_run(unit.path) and this.folder.is_relative_to(unit.path.resolve()):
            for path, place in kustomization.outside(this, unit.path.resolve()):
                message = f"the run builds on {path.name}, which is outside of its folder: the next change there changes a live TrainJob"
                rendered.faults.append(Fault(rule=SELF_CONTAINED, message=message, resource=None, place=place))
        rendered.problems += [Problem.of(error) for error in kustomization.missing(this)]
        for file in kustomization.files(this):
            if not file.exists():
                continue
            try:
                for document in source.load(file):
                    _ = document.value
            except GateError as error:
                rendered.problems.append(Problem.of(error))
        try:
            for _ in parts.patch_documents(this):
                pass
        except GateError as error:
            rendered.problems.append(Problem.of(error))
    for this in reversed(layers):  # what a folder configures is known when it is built, and it is built when it may be
        for field, index, folder in kustomization.configured_folders(this):
            if not _barred(rendered):
                rendered.faults += kustomization.configured_out(this, field, index, build(folder))
    if _barred(rendered):
        return
    for manifest in build(unit.path):
        rendered.resources += [Resource(manifest=each, unit=unit) for each in objects(manifest, unit.path, None)]
    if not rendered.resources:
        raise GateError("renders no object", file=layers[0].file)


def _barred(rendered: Rendered) -> bool:
    return bool(rendered.problems) or any(fault.rule != SELF_CONTAINED for fault in rendered.faults)


def is_run(folder: Path) -> bool:
    """Whether a folder is a run's: clusters/<cluster>/runs/<run>."""
    parts = folder.resolve().parts
    return len(parts) >= 4 and parts[-2] == "runs" and parts[-4] == "clusters"


@functools.lru_cache(maxsize=1024)
def build(folder: Path) -> tuple[Any, ...]:
    """`kustomize build` of a folder. Raises GateError with kustomize's last words, and where, if it fails."""
    try:
        return kustomize(folder)
    except GateError as error:
        raise _explained(error, folder) from error


def kustomize(folder: Path) -> tuple[Any, ...]:
    """The same, not kept, and with kustomize's words as they are."""
    text = process.run([tools.binary("kustomize"), "build", folder], env=process.environment(), timeout=_SECONDS, hostile=True)
    try:
        return tuple(source.parse(text, folder))
    except GateError as error:
        written = text.splitlines()[error.line - 1].strip()[:80] if error.line else ""
        shown = f", at {written!r}" if written and "kind: Secret" not in text else ""
        raise GateError(f"what it builds {error.message}{shown}") from error


@functools.lru_cache(maxsize=1024)
def build_with_origins(folder: Path) -> tuple[Any, ...]:
    """The same build, each object annotated with the file that it came from (absolute), for locating findings.

    Kustomize takes the wish for origins from a kustomization only, so a throw-away one is wrapped around the folder.
    """
    with tempfile.TemporaryDirectory(dir=process.scratch()) as name:
        wrapper = Path(name).resolve()
        relative = os.path.relpath(folder.resolve(), wrapper)
        (wrapper / "kustomization.yaml").write_text(f"buildMetadata: [originAnnotations]\nresources: [{relative!r}]\n", encoding="utf-8")
        manifests = tuple(without_nulls(manifest) for manifest in kustomize(wrapper))
        for manifest in manifests:
            annotations = (manifest.get("metadata") or {}).get("annotations") or {}
            if ORIGIN in annotations:
                (origin,) = source.parse(annotations[ORIGIN], wrapper)
                for key in ("path", "configuredIn"):
                    if key in origin:
                        origin[key] = (wrapper / origin[key]).resolve()
                annotations[ORIGIN] = origin
    return manifests


def _explained(error: GateError, folder: Path) -> GateError:
    """One fault has one place, whatever is built from it, and the words that are right there."""
    with contextlib.suppress(GateError):
        if inner := blame.innermost(folder, build):
            return inner
    message = _shorter(error.message, folder)
    slow = f"stopped after {_SECONDS}" in error.message
    place = None if slow else blame.place(folder, error.message, kustomize)
    return GateError(message, file=place.file if place else kustomization.kustomization_file(folder), line=place.line if place else None)


def _shorter(message: str, folder: Path) -> str:
    """Kustomize repeats the whole trail of folders: names relative to the built one are enough."""
    if any("secretGenerator" in layer.value for layer in kustomization.walk(folder)):
        return "does not build; kustomize's words may hold a secret and are not shown: run `kustomize build` yourself"
    text = re.sub(r"^.*(?:recursed accumulation of path|accumulation err=)[^:]*: (?=[^:]*[a-z])", "", message)
    text = re.sub(r"'?: must build at directory: .*$", "", text)
    text = re.sub(r"^.*?map\[string\]interface.*(?=yaml: )", "", text)
    text = text.replace(f"{folder.resolve()}/", "").replace(str(folder.resolve()), folder.name)
    return "does not build: " + text.removeprefix("kustomize: ").removeprefix("Error: ")


def objects(value: Any, file: Path, line: int | None) -> Iterator[dict[str, Any]]:
    """The objects of a document: itself, or the items of a List. Null fields are dropped, as the API server does."""
    if not isinstance(value, dict):
        raise GateError("a document must be an object with apiVersion and kind", file=file, line=line)
    if not isinstance(value.get("metadata", {}), dict | None):
        raise GateError("metadata must be a mapping", file=file, line=line)
    if str(value.get("kind", "")).endswith("List") and isinstance(value.get("items"), list):
        for item in value["items"]:
            yield from objects(item, file, line)
        return
    yield without_nulls(value)


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): without_nulls(child) for key, child in value.items() if child is not None}
    if isinstance(value, list):
        return [without_nulls(child) for child in value]
    return value


__all__ = ["ORIGIN", "Place", "Rendered", "build", "build_with_origins", "kustomize", "objects", "render", "render_all", "units"]
