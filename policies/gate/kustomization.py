"""The graph of kustomizations below a folder, read as text: what each one names, before anything is built.

A pull request may name whatever it likes, so nothing is built that reaches out of the repository's files: remote
resources, Helm charts and function plugins are faults of their own.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from gate import source
from gate.model import Fault, FieldPath, GateError, Place, get

FILE_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
NO_REMOTE = "kustomize/no-remote-resources"
NO_PLUGINS = "kustomize/no-plugins"
_FOLDER_OR_FILE = ("resources", "bases", "components", "generators", "transformers", "validators")
_FILE = ("crds", "configurations", "patchesStrategicMerge")
_FILE_IN = (("patches", "path"), ("patchesJson6902", "path"), ("replacements", "path"), ("openapi", "path"))
_REMOTE = re.compile(r"://|^git@|^git::|^(?:[\w-]+\.)+[a-z]{2,}[/:]|[?&]ref=", re.IGNORECASE)
_URL = re.compile(r"^(?:[a-z0-9+.-]+::)?[a-z][a-z0-9+.-]*://", re.IGNORECASE)
# Fields whose strings are values and never paths.
_VALUES = {
    "literals",
    "labels",
    "commonLabels",
    "commonAnnotations",
    "annotations",
    "images",
    "patch",
    "metadata",
    "options",
    "value",
    "vars",
}
_CONFIGURED = ("generators", "transformers", "validators")
_GENERATORS = ("configMapGenerator", "secretGenerator")
_PROGRAMS = ("HelmChartInflationGenerator",)
_PLUGINS = ("helmCharts", "helmChartInflationGenerator", "helmGlobals", "inventory")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layer:
    """One kustomization: its file and what it accumulates, in kustomize's order."""

    folder: Path
    document: source.Document
    resources: tuple[Path, ...]
    components: tuple[Path, ...]

    @property
    def file(self) -> Path:
        return self.document.file

    @property
    def value(self) -> dict[str, Any]:
        value: dict[str, Any] = self.document.value
        return value

    @property
    def is_component(self) -> bool:
        return self.value.get("kind") == "Component"


def kustomization_file(folder: Path) -> Path | None:
    """The kustomization file of a folder, if it is one. Raises GateError where there are two."""
    found = [folder / name for name in FILE_NAMES if (folder / name).is_file()]
    if len(found) > 1:
        raise GateError(f"{found[0].name} and {found[1].name} stand side by side: keep one", file=found[1])
    return found[0] if found else None


@functools.lru_cache(maxsize=4096)
def layer(folder: Path) -> Layer:
    """The kustomization in a folder. Raises GateError where it is broken or names what does not exist."""
    file = kustomization_file(folder)
    if file is None:
        raise GateError("has no kustomization.yaml", file=folder)
    documents = source.load(file)
    if len(documents) != 1 or not isinstance(documents[0].value, dict):
        raise GateError("must hold exactly one mapping of kind Kustomization or Component", file=file)
    document = documents[0]
    entries = {field: tuple(_paths(folder, document, field)) for field in ("resources", "bases", "components")}
    return Layer(folder=folder, document=document, resources=entries["resources"] + entries["bases"], components=entries["components"])


def _paths(folder: Path, document: source.Document, field: str) -> Iterator[Path]:
    for index, entry in _listed(document, field):
        path = (folder / entry).resolve()
        if _is_remote(folder, entry):
            continue
        if not path.exists():
            raise GateError(f"{field}: {entry} does not exist", file=document.file, line=document.line((field, index)))
        yield path


def _listed(document: source.Document, field: str) -> Iterator[tuple[int, str]]:
    """The plain strings of a list field with their index; inline YAML (of patches and generators) is none of them."""
    entries = document.value.get(field) or []
    if not isinstance(entries, list):
        raise GateError(f"{field} must be a list", file=document.file, line=document.line((field,)))
    for index, entry in enumerate(entries):
        if isinstance(entry, str) and "\n" not in entry:
            yield index, entry


def _is_remote(folder: Path, entry: str) -> bool:
    """Whether kustomize would fetch an entry: a URL always, what looks like a repository if there is no such path."""
    return bool(_URL.search(entry)) or (bool(_REMOTE.search(entry)) and not (folder / entry).exists())


def walk(folder: Path) -> list[Layer]:
    """The layers below and including a folder, outermost first, each once. Raises GateError where they loop."""
    found: dict[Path, Layer] = {}

    def visit(at: Path, trail: tuple[Path, ...]) -> None:
        if at in trail:
            loop = " → ".join(step.name for step in (*trail[trail.index(at) :], at))
            raise GateError(f"the kustomizations loop: {loop}", file=kustomization_file(trail[-1]))
        if at in found:
            return
        this = layer(at)
        found[at] = this
        for below in (*this.resources, *this.components, *(folder for _, _, folder in configured_folders(this))):
            if below.is_dir():
                visit(below, (*trail, at))

    visit(folder.resolve(), ())
    return list(found.values())


def files(this: Layer) -> Iterator[Path]:
    """The YAML files that one layer reads itself: its resources and its patches."""
    yield from (path for path in this.resources if path.is_file())
    for field in _FILE:
        yield from ((this.folder / entry).resolve() for _, entry in _listed(this.document, field))
    for field, key in _FILE_IN:
        for entry in _mappings(this.value.get(field)):
            if isinstance(entry.get(key), str) and not _is_remote(this.folder, entry[key]):
                yield (this.folder / entry[key]).resolve()


def read(this: Layer) -> Iterator[Path]:
    """Everything that the build of one layer reads, existing or not, but for the layers below it.

    What generators and transformers are configured with may name further files. Kustomize reads none from outside of a
    layer's folder, so all files in it count where a layer has such a configuration.
    """
    yield this.file
    yield from (path for path in this.resources if path.is_file())
    for path, entry in _entries(this):
        written = _path_in(path, entry)
        if "\n" not in written and not _is_remote(this.folder, written) and not (this.folder / written).is_dir():
            yield (this.folder / written).resolve()
    if any(this.value.get(field) for field in _CONFIGURED):
        yield from (path for path in this.folder.rglob("*") if path.is_file())


def missing(this: Layer) -> Iterator[GateError]:
    """What a layer names but does not have, at the line that names it."""
    for path, entry in _entries(this):
        written = _path_in(path, entry)
        if "\n" not in written and not _is_remote(this.folder, written) and not (this.folder / written).exists():
            yield GateError(f"{path[0]}: {written} does not exist", file=this.file, line=this.document.line(path))


def outside(this: Layer, folder: Path) -> Iterator[tuple[Path, Place]]:
    """What a layer reads from outside of `folder`, and the line that names it."""
    for field in ("resources", "bases", "components"):
        for index, entry in _listed(this.document, field):
            path = (this.folder / entry).resolve()
            if not path.is_relative_to(folder):
                yield path, Place(file=this.file, line=this.document.line((field, index)))


def reaching_out(this: Layer) -> Iterator[Fault]:
    """Faults for everything in a layer that would fetch something or start a program during the build."""
    for path, entry in _entries(this):
        if _is_remote(this.folder, _path_in(path, entry)):
            place = Place(file=this.file, line=this.document.line(path))
            yield Fault(rule=NO_REMOTE, message=f"{path[0]} fetches {entry} when it is built", resource=None, place=place)
    for path, url in _urls(this):
        place = Place(file=this.file, line=this.document.line(path))
        yield Fault(rule=NO_REMOTE, message=f"{path[0]} fetches {url} when it is built", resource=None, place=place)
    for field in _PLUGINS:
        if this.value.get(field):
            place = Place(file=this.file, line=this.document.line((field,)))
            yield Fault(rule=NO_PLUGINS, message=f"{field} starts another program when it is built", resource=None, place=place)
    for field in _CONFIGURED:
        for index, _ in enumerate(this.value.get(field) or []):
            written = (source.construct(node, file) for file, node in _configurations(this, field, index))
            yield from configured_out(this, field, index, written)


def configured_folders(this: Layer) -> Iterator[tuple[str, int, Path]]:
    """The entries of a layer whose configurations of generators and transformers are what a folder builds to."""
    for field in _CONFIGURED:
        for index, entry in _listed(this.document, field):
            if not _is_remote(this.folder, entry) and kustomization_file((this.folder / entry).resolve()):
                yield field, index, (this.folder / entry).resolve()


def configured_out(this: Layer, field: str, index: int, configurations: Iterable[Any]) -> Iterator[Fault]:
    """The same for what an entry configures, given as the documents that kustomize will see."""
    place = Place(file=this.file, line=this.document.line((field, index)))
    for value in configurations:
        for _, text in _strings(value, ()):
            if _is_url(text):
                yield Fault(rule=NO_REMOTE, message=f"{field} fetches {text} when it is built", resource=None, place=place)
        if isinstance(value, dict):
            function = get(value, ("metadata", "annotations", "config.kubernetes.io/function"))
            api_version, kind = "function" if function else str(value.get("apiVersion")), str(value.get("kind"))
            if api_version != "builtin" or kind in _PROGRAMS:
                message = f"{field} runs the plugin {kind} ({api_version}) when it is built"
                yield Fault(rule=NO_PLUGINS, message=message, resource=None, place=place)


def _path_in(at: FieldPath, entry: str) -> str:
    """The path in an entry: generators may write key=path."""
    return entry.rpartition("=")[2] if at[0] in _GENERATORS else entry


def _urls(this: Layer) -> Iterator[tuple[FieldPath, str]]:
    """URLs in any other field of a layer, and in what its generators and transformers are configured with."""
    known = {path for path, _ in _entries(this)}
    for path, text in _strings(this.value, ()):
        if path not in known and _is_url(text):
            yield path, text


def _is_url(text: str) -> bool:
    """Whether a text, or what stands after the = of key=path, is a URL."""
    return any(_URL.search(part) for part in (text, text.rpartition("=")[2]))


def _strings(value: Any, path: FieldPath) -> Iterator[tuple[FieldPath, str]]:
    if isinstance(value, str):
        if "\n" not in value:
            yield path, value
    elif isinstance(value, dict):
        for key, child in value.items():
            if key not in _VALUES:
                yield from _strings(child, (*path, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _strings(child, (*path, index))


def _entries(this: Layer) -> Iterator[tuple[FieldPath, str]]:
    for field in (*_FOLDER_OR_FILE, *_FILE):
        for index, entry in _listed(this.document, field):
            yield (field, index), entry
    for field, key in _FILE_IN:
        value = this.value.get(field)
        for index, mapping in enumerate(_mappings(value)):
            if isinstance(mapping.get(key), str):
                yield (field, index, key) if isinstance(value, list) else (field, key), mapping[key]
    for field in _GENERATORS:
        for index, mapping in enumerate(_mappings(this.value.get(field))):
            for key in ("files", "envs"):
                listed = mapping.get(key)
                for number, entry in enumerate(listed if isinstance(listed, list) else []):
                    if isinstance(entry, str):
                        yield (field, index, key, number), entry
            if isinstance(mapping.get("env"), str):
                yield (field, index, "env"), mapping["env"]


def transformers(this: Layer) -> Iterator[tuple[int, Path, yaml.Node, dict[str, Any]]]:
    """(index of the entry, file, node, value) of what the layer's transformers are configured with, in their order."""
    for index, _ in enumerate(this.value.get("transformers") or []):
        for file, node in _configurations(this, "transformers", index):
            value = source.construct(node, file)
            if isinstance(value, dict):
                yield index, file, node, value


def _configurations(this: Layer, field: str, index: int) -> list[tuple[Path, yaml.Node]]:
    """(file, node) of the documents of a generator or transformer entry, inline or in files."""
    entry = this.value[field][index]
    if not isinstance(entry, str):
        return []
    if "\n" in entry:
        node = source.child(this.document.node, (field, index))
        return [(this.file, each) for each in source.compose_inside(node, this.file)] if node else []
    path = (this.folder / entry).resolve()
    if path.is_file():
        return [(path, document.node) for document in source.load(path)]
    if kustomization_file(path):
        return [
            (file, document.node) for below in walk(path) for file in below.resources if file.is_file() for document in source.load(file)
        ]
    return []


def _mappings(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in (value if isinstance(value, list) else [value]) if isinstance(entry, dict)]
