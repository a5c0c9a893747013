"""Finds the source line that a person must edit for a field of a rendered object.

That is where the field was set last, even to the value that it had: what stands further in has no effect. A field that is
there is told by the marks of a build (gate/marks.py). A field that is gone, and what bears no mark (names, namespaces,
replicas), is looked for from the built kustomization inwards: in the outermost layer whose build changes it, the last
applied of its patches, replacements and other settings. Rendered lists are compared by the names of their elements there,
since a patch may move them.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from gate import blame, kustomization, marks, parts, render, source
from gate.kustomization import Layer
from gate.model import Fault, FieldPath, GateError, Manifest, Place, Resource, get

_LONGEST_NAME = 253
_NAME: FieldPath = ("metadata", "name")
_NAMESPACE: FieldPath = ("metadata", "namespace")


def locate(fault: Fault) -> Place:
    """The place of a fault: its own, or the line of its field (of the nearest existing ancestor if it is absent)."""
    if fault.place or fault.resource is None:
        return fault.place or Place(file=Path())
    resource = fault.resource
    try:
        if node := _written(resource, fault.path):
            file, lines = text(resource, fault.path[:2])
            return Place(file=file, line=lines[source.line_of(node, fault.path[2:]) - 1])
        if not resource.unit.kustomization:
            return Place(file=resource.unit.path, line=source.line_of(_item(resource), fault.path))
        return _in_build(resource, fault.path, key=fault.key)
    except GateError:
        return _fallback(resource)


def text(resource: Resource, path: FieldPath) -> tuple[Path, list[int]]:
    """For each line of a text in an object the line (from 1) where it is written, and the file."""
    count = str(get(resource.manifest, path, "")).count("\n") + 1
    node: yaml.Node | None
    if resource.unit.kustomization:
        built = marks.marked(resource.unit.path)
        written = built.written_at(resource, path) if built else None
        if written and written.node is None:
            return written.file, list(range(written.line, written.line + count))
        node, file = (written.node, written.file) if written else (None, Path())
    else:
        node, file = source.child(_item(resource), path), resource.unit.path
    if isinstance(node, yaml.ScalarNode):
        lines = source.text_lines(node, file)
        return file, (lines + [lines[-1]] * count)[:count]
    place = locate(Fault(rule="", message="", resource=resource, path=path))
    return place.file, [place.line] * count


def _in_build(resource: Resource, path: FieldPath, *, key: bool) -> Place:
    found = path
    while get(resource.manifest, found) is None:
        found = found[:-1]
    walk = _Walk(resource, path)
    with contextlib.suppress(GateError, OSError):
        if found != path and (place := walk.removed()):
            return place
    built = marks.marked(resource.unit.path)
    if built and (written := built.written_at(resource, found, key=key and found == path)):
        inside = source.find(written.node, path[len(found) :]) if isinstance(written.node, yaml.CollectionNode) else (0, 0)
        return Place(file=written.file, line=inside[1] if inside[0] else written.line)
    return walk.place()


def exists(fault: Fault) -> bool:
    """Whether the field of a fault exists in the rendered object."""
    if fault.resource is None:
        return True
    if node := _written(fault.resource, fault.path):
        return source.find(node, fault.path[2:])[0] == len(fault.path) - 2
    marker = object()
    return get(fault.resource.manifest, fault.path, marker) is not marker


def _written(resource: Resource, path: FieldPath) -> yaml.Node | None:
    """The YAML that a ConfigMap holds as the text of one key, where a path leads on into it."""
    value = get(resource.manifest, path[:2])
    if resource.kind != "ConfigMap" or path[:1] != ("data",) or len(path) < 3 or not isinstance(value, str):
        return None
    return next(source.compose(value, resource.unit.path), None)


def _fallback(resource: Resource) -> Place:
    file = kustomization.kustomization_file(resource.unit.path) if resource.unit.kustomization else None
    return Place(file=file or resource.unit.path)


def _item(resource: Resource) -> yaml.Node:
    """The object in a plain file: the item where the document is a List."""
    node = source.load(resource.unit.path)[resource.document].node
    wanted = ((_NAME, resource.name), (("kind",), resource.kind), (_NAMESPACE, resource.namespace))
    for item in getattr(source.child(node, ("items",)), "value", []):
        if all(getattr(source.child(item, at), "value", "") == value for at, value in wanted):
            node = item
    return node


class _Walk:
    """The search for one field of one object through the layers of its kustomization."""

    def __init__(self, resource: Resource, path: FieldPath) -> None:
        self.top = resource
        self.wanted = parts.selectors(resource.manifest, path)
        self.absent = parts.resolve(resource.manifest, self.wanted) is parts.NOTHING
        self.found = self.wanted
        while parts.resolve(resource.manifest, self.found) is parts.NOTHING:
            self.found = self.found[:-1]

    @functools.cached_property
    def manifest(self) -> Manifest:
        return self._same(render.build_with_origins(self.top.unit.path), self.top.manifest)

    @functools.cached_property
    def origin(self) -> Manifest:
        return get(self.manifest, ("metadata", "annotations", render.ORIGIN)) or {}

    def place(self) -> Place:
        """Of a field that is there."""
        if self.found == _NAME:
            return self._name()
        for this, after, before in self._layers():
            if (setting := self._setting(this)) is not None:
                return setting
            changed = self._changed(after, before)
            if changed is not None:
                return self._within(this, changed, after, before)
        return self._bottom()

    def removed(self) -> Place | None:
        """Of a field that a layer took away, or whose mapping it emptied."""
        candidates = list(self._layers())
        for this, after, before in candidates:
            if before is not None and parts.resolve(before, self.wanted) is not parts.NOTHING:
                return self._removal(this, after, before)
        return self._deeper_patch(candidates)

    def _removal(self, this: Layer, after: Manifest, before: Manifest) -> Place:
        """Where a layer takes the field away: the entry without which it is there."""

        def gone(folder: Path) -> bool:
            return parts.resolve(self._same(render.kustomize(folder), after), self.wanted) is parts.NOTHING

        found = blame.entry(this.folder, gone)
        if not found:
            return self._within(this, self.wanted, after, before)
        layer, field, index = found
        patched = parts.patched(layer, self.wanted, after, before, self.wanted, entry=(field, index))
        return next((place for place, _ in patched), Place(file=layer.file, line=layer.document.line((field, index))))

    def _setting(self, this: Layer) -> Place | None:
        """Where a layer sets the namespace or the number of replicas that the object has."""
        if self.found == _NAMESPACE:
            return next((place for value, place in parts.settings(this, "namespace") if value == self.top.namespace), None)
        if self.found and self.found[-1] == "replicas":
            for value, place in parts.settings(this, "replicas"):
                if get(value, ("count",)) == parts.resolve(self.top.manifest, self.found) and str(get(value, ("name",))) in self.top.name:
                    return place
        return None

    def _name(self) -> Place:
        """Of a name that layers put together: the piece with what no name may have, else the longest."""
        pieces: list[tuple[str, Place]] = []
        for this, after, before in self._layers():
            if before is not None and get(after, _NAME) != get(before, _NAME):
                for place, _ in parts.parts(this, _NAME, after, before, _NAME):
                    return place
                for field in ("nameSuffix", "namePrefix"):
                    pieces += [(str(text), place) for text, place in parts.settings(this, field) if str(text) in str(get(after, _NAME))]
            inmost = before or after
        pieces.append((str(get(inmost, _NAME)), self._bottom()))
        return max(pieces, key=lambda piece: (bool(re.search(r"[^a-z0-9.-]", piece[0])), len(piece[0])))[1]

    def _layers(self) -> Iterator[tuple[Layer, Manifest, Manifest | None]]:
        """Each layer on the way to the object's file, with the object after it and before it (None: it begins there)."""
        folder = self.top.unit.path.resolve()
        after = self.top.manifest
        while True:
            this = kustomization.layer(folder)
            below = self._below(this, after)
            if below is None:
                yield this, after, None
                return
            before = self._object_in(below, after)
            yield this, after, before
            if before is None or below.is_file():
                return
            folder, after = below, before

    def _below(self, this: Layer, after: Manifest) -> Path | None:
        """The resource entry of a layer that leads to the object's file."""
        target = _origin_file(self.origin)
        if target is None:
            return None
        if target in this.resources:
            return Path(target)
        leading = [
            entry
            for entry in this.resources
            if entry.is_dir() and any(target == below.file or target in below.resources for below in kustomization.walk(entry))
        ]
        if len(leading) > 1:  # several variants of one base: the one that has this name
            leading.sort(key=lambda entry: -self._likeness(entry, str(get(after, ("metadata", "name"), ""))))
        return leading[0] if leading else None

    def _likeness(self, entry: Path, name: str) -> int:
        """How much of a name the fitting object of a build has: all of it, or the longest that it ends up in."""
        try:
            manifests = render.build_with_origins(entry)
        except GateError:
            return 0
        kind = self.manifest.get("kind")
        own = [
            str(get(m, ("metadata", "name"), "")) for m in manifests if m.get("kind") == kind and _file_of(m) == _origin_file(self.origin)
        ]
        return max((len(each) for each in own if each and each in name), default=0)

    def _object_in(self, below: Path, after: Manifest) -> Manifest | None:
        if below.is_file():
            values = [render.without_nulls(document.value) for document in source.load(below)]
            flat = [item for value in values for item in (value.get("items") or [value] if isinstance(value, dict) else [])]
            return self._same(flat, after, by_origin=False)
        return self._same(render.build_with_origins(below), after)

    def _same(self, manifests: Sequence[Any], like: Manifest, *, by_origin: bool = True) -> Manifest:
        """The object of a build that became `like` one layer further out: its kind and file, and the name inside its name."""
        found = [m for m in manifests if isinstance(m, dict) and m.get("kind") == like.get("kind")]
        if by_origin and "manifest" in self.__dict__:
            found = [m for m in found if _file_of(m) == _origin_file(self.origin)] or found
        name, namespace = str(get(like, ("metadata", "name"), "")), get(like, ("metadata", "namespace"))
        exact = [m for m in found if get(m, ("metadata", "name")) == name]
        same = [m for m in exact if get(m, ("metadata", "namespace")) == namespace] or exact
        inside = sorted(
            (m for m in found if str(get(m, ("metadata", "name"), "\0")) in name), key=lambda m: -len(get(m, ("metadata", "name")))
        )
        if not (same or inside or found):
            raise GateError("the object is not in the layer below")
        renamed = sorted(found, key=lambda m: -_common_end(str(get(m, ("metadata", "name"), "")), name))
        return (same or inside or renamed)[0]

    def _changed(self, after: Manifest, before: Manifest | None) -> parts.Selectors | None:
        """The path that a layer set, or None where it left the field as it was."""
        if before is None:
            return None
        now, then = parts.resolve(after, self.found), parts.resolve(before, self.found)
        if then is parts.NOTHING:
            return self.found
        scalar = not isinstance(now, dict) and not (isinstance(now, list) and any(isinstance(item, dict) for item in now))
        return self.found if scalar and now != then else None

    def _within(self, this: Layer, path: parts.Selectors, after: Manifest, before: Manifest | None) -> Place:
        """Which part of a layer set the path: the last applied that fits."""
        for place, _ in parts.parts(this, path, after, before or {}, self.wanted):
            return place
        return Place(file=this.file, line=parts.transformer_line(this, path))

    def _deeper_patch(self, candidates: Sequence[tuple[Layer, Manifest, Manifest | None]]) -> Place | None:
        """A patch that touches more of an absent path than exists: an emptied mapping is where a person took it out."""
        best: tuple[int, Place] | None = None
        for this, after, before in candidates:
            for place, depth in parts.parts(this, self.found, after, before or {}, self.wanted):
                if depth > len(self.found) and (best is None or depth > best[0]):
                    best = depth, place
        return best[1] if best else None

    def _bottom(self) -> Place:
        """The line in the file that the object comes from, or of the generator that makes it."""
        if file := self.origin.get("path"):
            candidates: list[tuple[tuple[bool, int, bool], Place]] = []
            for document in source.load(file):
                value = document.value
                items = value.get("items") if isinstance(value, dict) else None
                for number, item in enumerate(items if isinstance(items, list) else [value]):
                    if isinstance(item, dict) and (likeness := self._likeness_of(item)):
                        start: FieldPath = ("items", number) if isinstance(items, list) else ()
                        line = document.line((*start, *parts.indices(item, self.wanted)))
                        candidates.append((likeness, Place(file=file, line=line)))
            if candidates:
                return max(candidates, key=lambda each: each[0])[1]
        if file := self.origin.get("configuredIn"):
            return self._generator(file)
        return _fallback(self.top)

    def _likeness_of(self, item: Manifest) -> tuple[bool, int, bool] | None:
        """How well an object of the file fits the rendered one (higher is better), or None where it cannot be it."""
        name = str(get(item, ("metadata", "name"), "\0"))
        if item.get("kind") != self.manifest.get("kind"):
            return None
        # a replacement may have put another word into the name
        length = len(name) if name in self.top.name else _common_end(name, self.top.name) - _LONGEST_NAME
        return name == self.top.name, length, str(get(item, ("metadata", "namespace")) or "") == self.top.namespace

    def _generator(self, file: Path) -> Place:
        """A generated object: the file of the data key, else the generator's line."""
        (document,) = source.load(file)
        for field in ("configMapGenerator", "secretGenerator"):
            entries = enumerate(document.value.get(field) or [])
            named = [(str(entry["name"]), at, entry) for at, entry in entries if isinstance(entry, dict) and entry.get("name")]
            fitting = [each for each in named if each[0] in self.top.name]
            if not fitting:
                continue
            _, index, entry = max(fitting, key=lambda each: len(each[0]))
            key = self.wanted[1] if len(self.wanted) > 1 and self.wanted[0] in ("data", "binaryData") else None
            for written in entry.get("files") or []:
                name, _, path = str(written).rpartition("=")
                if key and (name or Path(path).name) == key:
                    return Place(file=(file.parent / path).resolve())
            return Place(file=file, line=document.line((field, index)))
        return Place(file=file)


def _common_end(one: str, other: str) -> int:
    """How many characters two names end in alike."""
    pairs = zip(reversed(one), reversed(other), strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _file_of(manifest: Manifest) -> Path | None:
    return _origin_file(get(manifest, ("metadata", "annotations", render.ORIGIN)) or {})


def _origin_file(origin: Manifest) -> Path | None:
    return origin.get("path") or origin.get("configuredIn")
