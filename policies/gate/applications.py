"""What Argo CD's Applications deploy from this repository: the rules of argocd/ see one view for each.

An ApplicationSet counts as the Applications that its list, or the folders of this repository, make of its template; what
cannot be told from the repository stays a template, `{{`, and nothing is said of it.
"""

from __future__ import annotations

import dataclasses
import difflib
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gate import facts, kustomization, render
from gate.facts import Facts
from gate.model import FieldPath, Resource, Unit, get

_GROUP = "argoproj.io"
_VARIABLE = re.compile(r"\{\{-?\s*\.?([A-Za-z_][\w.-]*?)\s*-?\}\}")
_OTHER_TOOLS = ("Chart.yaml", "*.jsonnet")
# Folders that a repository like this one has: a path that begins with one is meant to be in it.
_ROOMS = ("clusters", "overlays")
_KUEUES = ("suspend", "runtimePatches", "podTemplateOverrides", "podSpecOverrides")  # the last two in older versions of Trainer
_NEARLY = 0.75  # of their characters are the same


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Application:
    """An Application, or one that an ApplicationSet makes; `path` leads to its spec in the object."""

    resource: Resource
    index: int
    path: FieldPath
    metadata: Mapping[str, Any]
    spec: Mapping[str, Any]

    def sources(self) -> list[tuple[FieldPath, Mapping[str, Any]]]:
        several = self.spec.get("sources") or []
        if several:
            return [((*self.path, "sources", i), source) for i, source in enumerate(several)]
        source = self.spec.get("source")
        return [((*self.path, "source"), source)] if source else []


def for_rules(root: Path, resources: Sequence[Resource], cluster: Facts | None) -> list[dict[str, Any]]:
    """The Applications among the resources, as the rules see them. `root` is the repository that is checked."""
    repository = _Repository(root, resources, cluster)
    return [_view(application, repository) for application in repository.applications()]


def units(root: Path, resources: Sequence[Resource], cluster: Facts | None) -> list[Unit]:
    """What of the repository has to be read to judge the Applications among the resources."""
    repository = _Repository(root, resources, cluster)
    sources = [(each.resource, source) for each in repository.applications() for _, source in each.sources()]
    folders = [folder for resource, source in sources if (folder := repository.folder(resource, source))]
    return [unit for folder in dict.fromkeys(folders) for unit in _units(folder, {})]


def _view(application: _Application, repository: _Repository) -> dict[str, Any]:
    sources, deployed, known = [], [], True
    for path, source in application.sources():
        faulty = repository.fault(application.resource, source)
        sources.append({"path": path, "spec": source, "fault": faulty})
        folder = repository.folder(application.resource, source)
        objects = _objects(folder, source) if folder else None
        known = known and (objects is not None or ("ref" in source and "path" not in source))
        deployed += objects or []
    return {
        "object": application.index,
        "path": application.path,
        "name": str(get(application.metadata, ("name",), "")),
        "generators": repository.generators(application.resource),
        "finalizers": get(application.metadata, ("finalizers",), []),
        "spec": application.spec,
        "sources": sources,
        "deploys": deployed,
        "known": known,
    }


class _Repository:
    """The repository on the disk, and what tells that a source is meant to be it."""

    def __init__(self, root: Path, resources: Sequence[Resource], cluster: Facts | None) -> None:
        self._root = root.resolve()
        self._resources = resources
        url = get(cluster.value, ("argocd", "repository")) if cluster and cluster.file.resolve().is_relative_to(self._root) else None
        self._url = normalised(url) if url else None
        self._same: set[str] = set()
        if not self._url:  # a source that is found here tells of all others of its repository
            found = [(each.resource, source) for each in self.applications() for _, source in each.sources()]
            self._same = {normalised(str(source.get("repoURL"))) for resource, source in found if self._evident(resource, source)}

    def applications(self) -> Iterator[_Application]:
        for index, resource in enumerate(self._resources):
            if resource.group != _GROUP or not isinstance(resource.manifest.get("spec"), dict):
                continue
            spec = resource.manifest["spec"]
            if resource.kind == "Application":
                yield _Application(resource=resource, index=index, path=("spec",), metadata=resource.metadata, spec=spec)
            elif resource.kind == "ApplicationSet" and isinstance(get(spec, ("template", "spec")), dict):
                for each in self._parameters(resource, spec.get("generators")):
                    template = _filled(spec["template"], each)
                    metadata = template.get("metadata") or {}
                    path = ("spec", "template", "spec")
                    yield _Application(resource=resource, index=index, path=path, metadata=metadata, spec=template["spec"])

    def _parameters(self, resource: Resource, generators: Any) -> list[dict[str, str]]:
        """What is put into a template, once for each Application; one without anything where it cannot be told."""
        found: list[dict[str, str]] = []
        for generator in generators if isinstance(generators, list) else []:
            elements = get(generator, ("list", "elements"))
            folders = get(generator, ("git", "directories"))
            if isinstance(elements, list):
                found += [dict(_flat(element, "")) for element in elements]
            elif isinstance(folders, list) and not get(generator, ("git", "template")):
                found += [{"path": each, "path.path": each, "path.basename": Path(each).name} for each in self._matched(resource, folders)]
        return found or [{}]

    def generators(self, resource: Resource) -> list[dict[str, Any]]:
        """Patterns of folders that an ApplicationSet looks for in vain, while there is a folder that is called nearly so."""
        found = []
        for i, generator in enumerate(get(resource.manifest, ("spec", "generators"), [])):
            for j, pattern in enumerate(get(generator, ("git", "directories"), [])):
                text = str(get(pattern, ("path",), ""))
                parts = list(itertools.takewhile(lambda part: not set(part) & set("*?[{"), Path(text).parts))
                source = {"path": "/".join(parts), "repoURL": get(generator, ("git", "repoURL"), "")}
                there = any(root.joinpath(*parts).is_dir() for root in self._roots(resource)) if _is_sane(text) else True
                meant = self._is_this(resource, source) and any(_meant(root, parts) for root in self._roots(resource))
                if meant and not there and not get(pattern, ("exclude",)):
                    found.append({"path": ["spec", "generators", i, "git", "directories", j, "path"], "pattern": text})
        return found

    def _matched(self, resource: Resource, patterns: Iterable[Any]) -> list[str]:
        found: dict[str, None] = {}
        for pattern in patterns:
            text = str(get(pattern, ("path",), ""))
            if not text or text.startswith("/") or ".." in text or "**" in text or not _is_sane(text):
                continue
            for root in self._roots(resource):
                matched = [path.relative_to(root).as_posix() for path in sorted(root.glob(text)) if path.is_dir()]
                for each in matched:
                    if get(pattern, ("exclude",)):
                        found.pop(each, None)
                    else:
                        found[each] = None
        return list(found)

    def _roots(self, resource: Resource) -> list[Path]:
        """Where a path may begin: at the repository, and for what lies in none of its rooms also at a folder above the manifest."""
        here = resource.unit.path.resolve()
        if not here.is_relative_to(self._root):
            return [self._root]
        room = here.relative_to(self._root).parts[:2]
        if room[:1] == ("overlays",) or (self._root.joinpath(*room) / facts.FILE_NAME).is_file():
            return [self._root]
        return [self._root, *(path for path in (here, *here.parents) if path.is_relative_to(self._root) and path.is_dir())]

    def _found(self, resource: Resource, source: Mapping[str, Any]) -> list[Path]:
        path = source.get("path")
        if not isinstance(path, str) or "{{" in path or source.get("chart"):
            return []
        try:
            found = [(root, (root / path.lstrip("/")).resolve()) for root in self._roots(resource)]
            return [folder for root, folder in found if folder.is_relative_to(root) and folder.exists()]
        except (OSError, ValueError, RuntimeError):
            return []  # a name that no file system takes, a link to itself

    def _evident(self, resource: Resource, source: Mapping[str, Any]) -> bool:
        path = Path(str(source.get("path") or ""))
        return len(path.parts) > 1 and "{{" not in str(source.get("repoURL")) and bool(self._found(resource, source))

    def _is_this(self, resource: Resource, source: Mapping[str, Any]) -> bool:
        """Whether a source is meant to be this repository: by the facts, else by what it names in it."""
        path, url = source.get("path"), str(source.get("repoURL", ""))
        if not isinstance(path, str) or "{{" in path or "{{" in url or source.get("chart") or not _is_sane(path):
            return False
        if self._url:
            return normalised(url) == self._url
        parts = Path(path).parts
        roots = self._roots(resource)
        beside = len(parts) > 1 and any((root / Path(*parts[:-1])).is_dir() for root in roots if not path.startswith("/"))
        inside = parts[:1] in {(room,) for room in _ROOMS} and any(each.is_dir() for each in self._root.glob(f"{parts[0]}/*/*"))
        return normalised(url) in self._same or beside or inside or any(_meant(root, parts) for root in roots)

    def folder(self, resource: Resource, source: Mapping[str, Any]) -> Path | None:
        """The folder that a source deploys, where it is one of this repository."""
        found = [path for path in self._found(resource, source) if path.is_dir()] if self._is_this(resource, source) else []
        return found[0] if found else None

    def fault(self, resource: Resource, source: Mapping[str, Any]) -> str:
        """What is wrong with the path of a source, "" where nothing is or it is another repository's."""
        if not self._is_this(resource, source):
            return ""
        found = self._found(resource, source)
        if not found:
            return "does not exist in this repository"
        if not found[0].is_dir():
            return "is a file, and Argo CD deploys folders"
        if not _units(found[0], source) and not any(path for name in _OTHER_TOOLS for path in found[0].glob(name)):
            return "holds no kustomization and no manifest"
        return ""


def _is_sane(path: str) -> bool:
    """Whether a file system takes a path."""
    return "\0" not in path and len(path) < 1024 and all(len(part.encode("utf-8", "replace")) < 256 for part in path.split("/"))


def _meant(folder: Path, parts: Sequence[str]) -> bool:
    """Whether a folder has the path, but for one part that is called nearly so."""
    if not parts or ".." in parts:
        return False
    if (folder / parts[0]).is_dir():
        return _meant(folder / parts[0], parts[1:])
    names = [path.name for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []
    return any(folder.joinpath(name, *parts[1:]).is_dir() for name in difflib.get_close_matches(parts[0], names, cutoff=_NEARLY))


def normalised(url: str) -> str:
    """A repository's URL as Argo CD compares it."""
    text = url.strip().lower()
    user, _, host = text.partition("@")  # as git@host:path, without the backtracking of a regular expression
    if ":" in host and not re.search("[/:]", user):
        text = text.replace(":", "/", 1)
    return text.removeprefix("ssh://").removesuffix("/").removesuffix(".git")


def _flat(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _flat(child, f"{name}.{key}" if name else str(key))
    elif isinstance(value, str | int) and name:
        yield name, str(value)


def _filled(value: Any, parameters: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(child, parameters) for key, child in value.items()}
    if isinstance(value, list):
        return [_filled(child, parameters) for child in value]
    return _VARIABLE.sub(lambda match: parameters.get(match[1], match[0]), value) if isinstance(value, str) else value


def _units(folder: Path, source: Mapping[str, Any]) -> list[Unit]:
    """What Argo CD builds of a folder."""
    if kustomization.kustomization_file(folder):
        return [Unit(path=folder, kustomization=True)]
    pattern = "**/*" if get(source, ("directory", "recurse")) else "*"
    files = [file for file in sorted(folder.glob(pattern)) if file.suffix in render.MANIFEST_SUFFIXES and file.is_file()]
    return [Unit(path=file, kustomization=False) for file in files]


def _objects(folder: Path, source: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """What is known of each object that a folder deploys; None where it cannot be told."""
    own = {"directory", "kustomize"} & {key for key in source if set(source[key] or {}) - {"recurse", "images", "namespace"}}
    if own or any(path for name in _OTHER_TOOLS for path in folder.glob(name)):
        return None
    rendered = [render.render(unit) for unit in _units(folder, source) if unit.path.name != facts.FILE_NAME]
    if any(each.problems or each.faults for each in rendered):
        return None  # told where the folder itself is checked
    namespace = get(source, ("kustomize", "namespace"))
    return [_identity(resource, namespace) for each in rendered for resource in each.resources]


def _identity(resource: Resource, namespace: Any) -> dict[str, Any]:
    """An object without its content, but for its size in bytes, the runtime of a TrainJob and what of it Kueue writes."""
    named = {"namespace": namespace} if namespace else {}
    metadata = {key: resource.metadata[key] for key in ("name", "namespace", "labels", "annotations") if key in resource.metadata}
    whole = json.dumps(resource.manifest, ensure_ascii=False, separators=(",", ":"), default=str)
    identity: dict[str, Any] = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {**metadata, **named}}
    identity["bytes"] = len(whole.encode("utf-8", "replace"))
    if resource.kind == "TrainJob":
        identity["runtime"] = {"kind": "ClusterTrainingRuntime", "name": "", **(get(resource.manifest, ("spec", "runtimeRef")) or {})}
        identity["spec"] = {field: value for field in _KUEUES if (value := get(resource.manifest, ("spec", field))) is not None}
    return dict(json.loads(json.dumps(identity, default=str)))
