"""What within one kustomization sets a field: its patches, components and replacements, and its own transformations.

Paths here are selectors: list elements are named by what identifies them, because a patch may move them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from gate import kustomization, source
from gate.kustomization import Layer
from gate.model import FieldPath, Manifest, Place, Step, get

# What identifies an element of a list, in the order of trying.
_KEYS = ("name", "manager", "mountPath", "key", "containerPort")
# In a strategic patch these say which object is meant and set nothing.
_IDENTITY = (("metadata", "name"), ("metadata", "namespace"), ("kind",), ("apiVersion",))
# A step of a path that survives reordering: a key, an index, or (key, value) of a list's element.
Selector = Step | tuple[str, Any]
Selectors = tuple[Selector, ...]

NOTHING = object()


def selectors(manifest: Manifest, path: FieldPath) -> Selectors:
    """A path with list indices replaced by what names the elements, so that it holds in other layers too."""
    steps: list[Selector] = []
    value: Any = manifest
    for step in path:
        element = value[step] if isinstance(value, list) and isinstance(step, int) and step < len(value) else None
        key = next((key for key in _KEYS if isinstance(element, dict) and key in element), None)
        steps.append((key, element[key]) if key and isinstance(element, dict) else step)
        value = get(value, (step,))
    return tuple(steps)


def resolve(value: Any, path: Selectors) -> Any:
    for step in path:
        if isinstance(step, tuple):
            value = (
                next((item for item in value if isinstance(item, dict) and item.get(step[0]) == step[1]), NOTHING)
                if isinstance(value, list)
                else NOTHING
            )
        else:
            value = get(value, (step,), NOTHING)
        if value is NOTHING:
            return NOTHING
    return value


def indices(value: Any, path: Selectors) -> FieldPath:
    """Selectors as plain steps in a given document, as far as they exist there and one step more."""
    plain: list[Step] = []
    for step in path:
        if isinstance(step, tuple):
            at = (
                next((i for i, item in enumerate(value) if isinstance(item, dict) and item.get(step[0]) == step[1]), None)
                if isinstance(value, list)
                else None
            )
            if at is None:
                break
            plain.append(at)
        else:
            plain.append(step)
        value = get(value, (plain[-1],))
    return tuple(plain)


def parts(this: Layer, path: Selectors, after: Manifest, before: Manifest, wanted: Selectors) -> Iterator[tuple[Place, int]]:
    """Places in a layer that set `path`, the last applied first, and how many steps of `wanted` each touches."""
    yield from _replacements(this, path, after, before)
    yield from patched(this, path, after, before, wanted)
    for component in reversed(this.components):
        if component.is_dir():
            yield from parts(kustomization.layer(component), path, after, before, wanted)


def patched(
    this: Layer, path: Selectors, after: Manifest, before: Manifest, wanted: Selectors, entry: FieldPath | None = None
) -> Iterator[tuple[Place, int]]:
    """The same of the patches only, or of one entry."""
    for target, file, node, value in reversed(list(patch_documents(this, entry))):
        if isinstance(value, list):
            if _targets(target, after, before):
                yield from _json6902(file, node, value, path, after, before, wanted)
        elif path in _IDENTITY:
            continue
        elif isinstance(value, dict) and (_targets(target, after, before) if target else _addresses(value, after, before)):
            deep, at = _depth(node, value, wanted)
            if deep >= len(path) or _replaces_a_list(value, path):
                yield Place(file=file, line=at), deep


def patch_documents(this: Layer, entry: FieldPath | None = None) -> Iterator[tuple[dict[str, Any] | None, Path, yaml.Node, Any]]:
    """(target, file, node, value) of every patch of a layer and of its transformers, or of one entry, as they are applied."""
    yield from _patch_documents(this.folder, this.file, this.document.node, this.value, entry)
    for number, file, node, value in kustomization.transformers(this):
        if entry not in (None, ("transformers", number)):
            continue
        target = value.get("target")
        for at in (("patch",), ("jsonOp",), ("patches",)):
            if isinstance(get(value, at), str) and (scalar := source.child(node, at)):
                for inner in source.compose_inside(scalar, file):
                    yield target, file, inner, source.construct(inner, file)
        paths = value.get("paths")
        for name in (value.get("path"), *(paths if isinstance(paths, list) else ())):
            yield from _patch_file(this.folder, name, target)


def _patch_documents(
    folder: Path, file: Path, node: yaml.Node, value: Manifest, only: FieldPath | None
) -> Iterator[tuple[dict[str, Any] | None, Path, yaml.Node, Any]]:
    for field in ("patchesStrategicMerge", "patches", "patchesJson6902"):
        for index, entry in enumerate(value.get(field) or []):
            at: FieldPath = (field, index)
            if only not in (None, at):
                continue
            inline: Any
            name: Any
            if isinstance(entry, str):
                inline, name, target = entry if "\n" in entry else None, entry, None
            elif isinstance(entry, dict):
                inline, name, target, at = entry.get("patch"), entry.get("path"), entry.get("target"), (*at, "patch")
            else:
                continue
            if inline and (scalar := source.child(node, at)):
                for inner in source.compose_inside(scalar, file):
                    yield target, file, inner, source.construct(inner, file)
            else:
                yield from _patch_file(folder, name, target)


def _patch_file(folder: Path, name: Any, target: Any) -> Iterator[tuple[dict[str, Any] | None, Path, yaml.Node, Any]]:
    if isinstance(name, str) and "\n" not in name and (folder / name).is_file():
        file = (folder / name).resolve()
        for document in source.load(file):
            yield target, file, document.node, document.value


# The field of a kustomization, and where the transformer of that name has the same in a file of its own.
_SETTINGS: dict[str, tuple[str, FieldPath]] = {
    "namespace": ("NamespaceTransformer", ("metadata", "namespace")),
    "namePrefix": ("PrefixTransformer", ("prefix",)),
    "nameSuffix": ("SuffixTransformer", ("suffix",)),
    "replicas": ("ReplicaCountTransformer", ("replica",)),
}


def settings(this: Layer, field: str) -> Iterator[tuple[Any, Place]]:
    """What a layer, its transformers and its components write in a field, the last applied first; of lists the elements."""
    kind, path = _SETTINGS[field]
    for _, file, node, value in reversed(list(kustomization.transformers(this))):
        if value.get("kind") == kind and get(value, path) is not None:
            yield get(value, path), Place(file=file, line=source.line_of(node, path))
    written = this.value.get(field)
    for index, entry in reversed(list(enumerate(written if isinstance(written, list) else []))):
        yield entry, Place(file=this.file, line=this.document.line((field, index, "count")))
    if isinstance(written, str) and written:
        yield written, Place(file=this.file, line=this.document.line((field,)))
    for component in reversed(this.components):
        if component.is_dir():
            yield from settings(kustomization.layer(component), field)


def _targets(target: dict[str, Any] | None, after: Manifest, before: Manifest) -> bool:
    """Whether a patch's target selects the object: kind and name are anchored patterns, labels are not looked at."""
    if not target:
        return False
    names = {str(get(m, ("metadata", "name"), "")) for m in (after, before)}
    return _fits(target.get("kind"), str(after.get("kind"))) and any(_fits(target.get("name"), name) for name in names)


def _fits(pattern: Any, text: str) -> bool:
    """Whether a selector's pattern fits: plain names and `.*` exactly, any other pattern is taken to fit.

    Selectors are Go's regular expressions, made by whoever wrote the patch: Python's engine can be sent into a loop by one.
    """
    if pattern is None:
        return True
    pieces = str(pattern).removeprefix("^").removesuffix("$").split(".*")
    if any(re.search(r"[\\.+*?()|\[\]{}^$]", piece) for piece in pieces):
        return True
    if len(pieces) == 1:
        return text == pieces[0]
    inside = all(piece in text for piece in pieces)
    return inside and text.startswith(pieces[0]) and text.endswith(pieces[-1])


def patches(target: dict[str, Any] | None, patch: Manifest, manifest: Manifest) -> bool:
    """Whether a strategic patch is one of the object, going by kinds and names."""
    return _targets(target, manifest, manifest) if target else _addresses(patch, manifest, manifest)


def _addresses(patch: Manifest, after: Manifest, before: Manifest) -> bool:
    names = [str(get(m, ("metadata", "name"), "")) for m in (after, before)]
    mine = str(get(patch, ("metadata", "name"), "\0"))
    return patch.get("kind") == after.get("kind") and any(mine in name for name in names)


def _depth(node: yaml.Node, value: Any, wanted: Selectors) -> tuple[int, int]:
    """How many steps of `wanted` a strategic patch holds, and the line of the deepest."""
    plain = indices(value, wanted)
    return source.find(node, plain)


def _replaces_a_list(patch: Manifest, path: Selectors) -> bool:
    """A strategic patch on a custom resource replaces lists: what it does not repeat is gone."""
    value: Any = patch
    for step in path:
        if isinstance(value, list):
            return True
        value = get(value, (step,), NOTHING) if not isinstance(step, tuple) else NOTHING
        if value is NOTHING:
            return False
    return value is None


def _json6902(
    file: Path, node: yaml.Node, operations: list[Any], path: Selectors, after: Manifest, before: Manifest, wanted: Selectors
) -> Iterator[tuple[Place, int]]:
    for index in range(len(operations) - 1, -1, -1):
        operation = operations[index]
        if not isinstance(operation, dict) or operation.get("op") == "test":
            continue
        tokens = [token.replace("~1", "/").replace("~0", "~") for token in str(operation.get("path", "")).split("/")[1:]]
        depth = _match(tokens, wanted, operation.get("value"), after, before)
        if depth is None:
            continue
        inside = indices(operation.get("value"), wanted[depth:])
        deep, line = source.find(node, (index, "value", *inside)) if "value" in operation else (0, source.line_of(node, (index,)))
        total = depth + max(deep - 2, 0)
        if operation.get("op") == "remove" or total >= len(path):
            yield Place(file=file, line=line if "value" in operation else source.line_of(node, (index, "path"))), total


def _match(tokens: list[str], path: Selectors, value: Any, after: Manifest, before: Manifest) -> int | None:
    """How many steps of `path` an operation's pointer covers, or None where it points elsewhere."""
    if len(tokens) > len(path):
        return None
    nows: list[Any] = [after, before]
    for number, (pointer, step) in enumerate(zip(tokens, path, strict=False)):
        if isinstance(step, tuple):
            elements = [get(now, (int(pointer),)) for now in nows] if pointer.isdigit() else []
            if number == len(tokens) - 1 and isinstance(value, dict) and step[0] in value:
                elements = [value]
            if not any(isinstance(element, dict) and element.get(step[0]) == step[1] for element in elements):
                return None
            nows = [resolve(now, (step,)) for now in nows]
        elif isinstance(step, int):
            if pointer not in ("-", str(step)):
                return None
            nows = [get(now, (step,)) for now in nows]
        else:
            if pointer != step:
                return None
            nows = [get(now, (step,)) for now in nows]
    return len(tokens)


def _replacements(this: Layer, path: Selectors, after: Manifest, before: Manifest) -> Iterator[tuple[Place, int]]:
    """Where a replacement writes the path."""
    for index, entry in enumerate(this.value.get("replacements") or []):
        file, node, value = this.file, this.document.node, entry
        start: FieldPath = ("replacements", index)
        if isinstance(entry, dict) and isinstance(entry.get("path"), str):
            file = (this.folder / entry["path"]).resolve()
            document = source.load(file)[0]
            node, start, value = document.node, (), document.value
        for number, replacement in enumerate(value if isinstance(value, list) else [value]):
            here: FieldPath = (*start, number) if isinstance(value, list) else start
            for t, target in enumerate(get(replacement, ("targets",)) or []):
                if not _targets(get(target, ("select",)), after, before):
                    continue
                for f, field in enumerate(get(target, ("fieldPaths",)) or []):
                    if _field_path(str(field)) == path:
                        yield Place(file=file, line=source.line_of(node, (*here, "targets", t, "fieldPaths", f))), len(path)


def _field_path(text: str) -> Selectors:
    """A replacement's field path: a.b.[name=x].c, with a\\.b for a dot in a key."""
    steps: list[Selector] = []
    for part in re.findall(r"\[[^\]]*\]|(?:\\.|[^.\[\]])+", text):
        if part.startswith("["):
            key, _, value = part[1:-1].partition("=")
            steps.append((key, value) if value else key)
        else:
            plain = part.replace("\\.", ".")
            steps.append(int(plain) if plain.isdigit() else plain)
    return tuple(steps)


def transformer_line(this: Layer, path: Selectors) -> int:
    """The line of the kustomization's own field that changes such a path: namespace, names, images, labels."""
    fields: dict[Selector, Sequence[str]] = {
        "namespace": ("namespace",),
        "name": ("nameSuffix", "namePrefix"),
        "image": ("images",),
        "labels": ("labels", "commonLabels"),
        "annotations": ("commonAnnotations",),
        "replicas": ("replicas",),
    }
    for step in reversed(path):
        for field in fields.get(step, ()) if isinstance(step, str) else ():
            if field in this.value:
                return this.document.line((field,))
    for field in ("transformers", "components", "patches"):
        if field in this.value:
            return this.document.line((field,))
    return 1
