"""Where every value of a build was written: a copy of the kustomization is built in which each value bears a mark.

The marks that come out name the places to edit, whatever patches, replacements, generators and transformers did on the
way, since kustomize itself has carried them there. Values that kustomize selects and merges by (names, kinds, keys of
lists) are left as they are; for those a mark on the mapping that holds them tells every mapping that was merged into it.
"""

from __future__ import annotations

import base64
import binascii
import copy
import dataclasses
import functools
import json
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from gate import kustomization, mirror, render, source
from gate.kustomization import Layer
from gate.model import FieldPath, GateError, Manifest, Resource, Step, get

# A word that no value holds, of characters that a tag of an image may have.
_WORD = secrets.token_hex(8)
_MARK = re.compile(f"_{_WORD}_(\\d+)_")
# What layers write together, each a piece, and what they write without a mark.
_PUT_TOGETHER = (("metadata", "name"), ("metadata", "namespace"))
# Elements of lists are merged and selected by these.
_KEYS = {"name", "key", "type", "ip", "uid", "port", "containerPort", "protocol", "mountPath", "devicePath", "topologyKey", "manager"}
# Fields of kustomizations, and of transformers in files, that hold values, YAML, or the names of files that are marked in turn.
_VALUES: tuple[tuple[str, ...], ...] = (
    ("commonLabels", "*"),
    ("commonAnnotations", "*"),
    ("labels", "*"),
    ("labels", "*", "pairs", "*"),
    ("annotations", "*"),
    *(("images", "*", field) for field in ("newName", "newTag", "digest")),
    *(("imageTag", field) for field in ("newName", "newTag", "digest")),
    ("replacements", "*", "sourceValue"),
    ("value",),
    ("literals", "*"),
    *((generator, "*", "literals", "*") for generator in ("configMapGenerator", "secretGenerator")),
    *((*options, field, "*") for options in (("options",), ("generatorOptions",)) for field in ("labels", "annotations")),
    *(
        (generator, "*", "options", field, "*")
        for generator in ("configMapGenerator", "secretGenerator")
        for field in ("labels", "annotations")
    ),
)
_LABELS = {"commonLabels", "commonAnnotations", "labels", "annotations"}
_PATCHES: tuple[tuple[str, ...], ...] = (
    ("patchesStrategicMerge", "*"),
    ("patches", "*", "patch"),
    ("patches", "*", "path"),
    ("patchesJson6902", "*", "patch"),
    ("patchesJson6902", "*", "path"),
    ("patch",),
    ("patches",),
    ("jsonOp",),
    ("path",),
    ("paths", "*"),
)
_REPLACEMENTS: tuple[tuple[str, ...], ...] = (("replacements", "*", "path"),)
_CONFIGURATIONS: tuple[tuple[str, ...], ...] = (("generators", "*"), ("transformers", "*"))
_FILES: tuple[tuple[str, ...], ...] = (
    *((generator, "*", "files", "*") for generator in ("configMapGenerator", "secretGenerator")),
    ("files", "*"),
)
_ENVS: tuple[tuple[str, ...], ...] = (
    *((generator, "*", "envs", "*") for generator in ("configMapGenerator", "secretGenerator")),
    *((generator, "*", "env") for generator in ("configMapGenerator", "secretGenerator")),
    ("envs", "*"),
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A value in a source file: the line to edit, its node in the YAML, and how late its document is applied."""

    file: Path
    line: int
    node: yaml.Node | None
    rank: int


class Marked:
    """The marked build of a folder. Raises GateError where it cannot be made."""

    def __init__(self, folder: Path) -> None:
        self._plain = list(_flat(render.build(folder), folder))
        copied = _Copy(folder)
        self.written = copied.written
        self._bears = {id(each.node) for each in self.written}
        self._marked = list(_flat(copied.built, folder))
        if [each.get("kind") for each in self._plain] != [each.get("kind") for each in self._marked]:
            raise GateError("the marked build holds other objects", file=folder)

    def written_at(self, resource: Resource, path: FieldPath, *, key: bool = False) -> Written | None:
        """What set an existing field last (the field itself, where the `key` is wrong and not its value); None if unknown.

        For a mapping or a list of mappings it is the first that still has a part in it.
        """
        value, marked = resource.manifest, self._of(resource)
        if marked is None:
            return None
        holder: Any = marked
        for step in path:
            holder, marked = marked, get(marked, (step,))
            if marked is None:
                return None
        value = get(value, path)
        if isinstance(value, dict):
            return min(self._mappings(marked), key=lambda each: each.rank, default=None)
        if isinstance(value, list):
            return self._list(holder, path[-1], marked)
        written = None if key else self._value(resource, value, marked)
        return written if written or path in _PUT_TOGETHER else self._holder(holder, path[-1], value, key=key)

    def _of(self, resource: Resource) -> Manifest | None:
        for plain, marked in zip(self._plain, self._marked, strict=True):
            if Resource(manifest=plain, unit=resource.unit).identity == resource.identity:
                return marked
        return None

    def _value(self, resource: Resource, value: Any, marked: Any) -> Written | None:
        """By the mark in the value. What a name became where it is referred to is longer than what was written."""
        text = _decoded(marked) if resource.kind == "Secret" else str(marked)
        numbers = _MARK.findall(text)
        if not numbers:
            return None
        written = self.written[int(numbers[0])]
        plain = _MARK.sub("", text)
        shown = _decoded(value) if resource.kind == "Secret" else str(value)
        same = plain == shown or (isinstance(value, str) and plain in value)
        return written if same or _scalar(written.node) == value else None

    def _holder(self, holder: Any, step: Step, value: Any, *, key: bool) -> Written | None:
        """By the mappings that were merged into the one that holds the value: the last that has it.

        A value that was written with a mark and has none any more was written by something else.
        """
        held = [each for each in self._held(holder, step) if key or (id(each.node) not in self._bears and _fits(_scalar(each.node), value))]
        return max(held, key=lambda each: each.rank, default=None)

    def _list(self, holder: Any, step: Step, marked: Any) -> Written | None:
        """A list: of values, what wrote it last; of mappings, the first whose elements are still in it."""
        listed = [each for each in self._held(holder, step) if isinstance(each.node, yaml.SequenceNode)]
        inside = [self.written[int(number)] for number in _MARK.findall(json.dumps(marked, ensure_ascii=False))]
        ranks = {each.rank for each in inside}
        kept = [each for each in listed if each.rank in ranks]
        if any(isinstance(item, dict) for item in marked):
            return min(kept or inside, key=lambda each: (each.rank, each.line), default=None)
        return max(kept or inside or listed, key=lambda each: (each.rank, -each.line), default=None)

    def _held(self, holder: Any, step: Step) -> list[Written]:
        """A field as each of the mappings has it that were merged into one."""
        return [
            Written(file=each.file, line=_line(name), node=node, rank=each.rank)
            for each in self._mappings(holder)
            for name, node in getattr(each.node, "value", [])
            if isinstance(name, yaml.ScalarNode) and name.value == step
        ]

    def _mappings(self, marked: Any) -> list[Written]:
        keys = marked if isinstance(marked, dict) else ()
        return [self.written[int(found[1])] for found in map(_MARK.fullmatch, keys) if found]


@functools.lru_cache(maxsize=64)
def marked(folder: Path) -> Marked | None:
    """The marked build of a folder, or None where marks get in kustomize's way."""
    try:
        return Marked(folder)
    except (GateError, OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return None


def _flat(built: Sequence[Any], folder: Path) -> Iterator[Manifest]:
    for each in built:
        yield from render.objects(each, folder, None)


def _decoded(value: Any) -> str:
    try:
        return base64.b64decode(str(value), validate=True).decode()
    except (binascii.Error, ValueError):
        return str(value)


def _scalar(node: yaml.Node | None) -> Any:
    return source.scalar(node) if isinstance(node, yaml.ScalarNode) else None


def _fits(written: Any, value: Any) -> bool:
    """Whether a value can be what was written: itself, or a name that was made longer."""
    return bool(written == value or str(written) == str(value) or (isinstance(written, str) and written and written in str(value)))


class _Copy:
    """A copy of all files that a build reads, with marks; `built` is what comes out of it."""

    def __init__(self, folder: Path) -> None:
        self.written: list[Written] = []
        self.rank = 0
        self.layers = {layer.folder: layer for layer in kustomization.walk(folder)}
        self.selectors = " ".join(found for text in self._texts() for found in re.findall(r"(?:label|annotation)Selector.*\n?.*", text))
        self.done: set[Path] = set()
        with mirror.mirrored(folder) as copied:
            self._write = copied.write
            self._layer(self.layers[folder.resolve()])
            self.built = render.kustomize(copied.at(folder.resolve()))

    def _texts(self) -> Iterator[str]:
        for layer in self.layers.values():
            for file in kustomization.read(layer):
                if file.suffix in render.YAML_SUFFIXES or file == layer.file:
                    yield source.read_text(file)

    # The order of the calls is the order in which kustomize applies what is written.
    def _layer(self, layer: Layer) -> None:
        if layer.folder in self.done:
            return
        self.done.add(layer.folder)
        for path in layer.resources:
            self._folder_or_file(path)
        value = copy.deepcopy(layer.value)
        value.pop("validators", None)  # they change nothing
        self._fields(layer.folder, layer.document.node, layer.file, value, _CONFIGURATIONS[:1], self._configuration)
        self._fields(layer.folder, layer.document.node, layer.file, value, _FILES + _ENVS, self._generated)
        for path in layer.components:
            self._folder_or_file(path)
        self._config(layer.folder, layer.document.node, layer.file, value)
        self._fields(layer.folder, layer.document.node, layer.file, value, _CONFIGURATIONS[1:], self._configuration)
        self._write(layer.file, _dumped([value]))

    def _folder_or_file(self, path: Path) -> None:
        if path.is_dir():
            self._layer(self.layers[path])
        elif path.is_file() and path not in self.done:
            self.done.add(path)
            self._write(path, _dumped([self._document(document.node, path, path.parent) for document in source.load(path)]))

    def _config(self, folder: Path, node: yaml.Node, file: Path, value: Any) -> None:
        """Marks the fields of a kustomization, or of a transformer that stands in a file."""
        self._fields(folder, node, file, value, _PATCHES, self._patch)
        self._fields(folder, node, file, value, _VALUES, self._text)
        self._fields(folder, node, file, value, _REPLACEMENTS, self._replacement)

    def _fields(
        self,
        folder: Path,
        node: yaml.Node,
        file: Path,
        value: Any,
        patterns: Sequence[tuple[str, ...]],
        mark: Callable[[Path, Path, str, yaml.Node, FieldPath], str | None],
    ) -> None:
        """Calls `mark` for the strings of fields and puts what it gives in their place."""
        for pattern in patterns:
            for path in list(_matching(value, pattern)):
                text, at = get(value, path), source.child(node, path)
                if isinstance(text, str) and at is not None:
                    self.rank += 1
                    new = mark(folder, file, text, at, path)
                    if new is not None:
                        get(value, path[:-1])[path[-1]] = new

    def _text(self, folder: Path, file: Path, text: str, node: yaml.Node, path: FieldPath) -> str | None:
        if _LABELS & set(path) and str(path[-1]) in self.selectors:
            return None
        quote = text[-1] if len(text) > 1 and text[-1] in "'\"" and "literals" in path else ""  # a literal's quotes are taken away
        return text.removesuffix(quote) + self._new(file, node) + quote

    def _patch(self, folder: Path, file: Path, text: str, node: yaml.Node, path: FieldPath) -> str | None:
        inline = path[-1] in ("patch", "patches", "jsonOp") or "\n" in text
        if inline:
            return _dumped([self._patched(each, file) for each in source.compose_inside(node, file)]).decode()
        target = (folder / text).resolve()
        if target.is_file() and target not in self.done:
            self.done.add(target)
            self._write(target, _dumped([self._patched(document.node, target) for document in source.load(target)]))
        return None

    def _patched(self, node: yaml.Node, file: Path) -> Any:
        if not isinstance(node, yaml.SequenceNode):
            return self._document(node, file, None)
        self.rank += 1
        operations = source.construct(node, file)
        kept = []
        for operation, each in zip(operations, node.value, strict=True):
            if isinstance(operation, dict) and operation.get("op") != "test":  # what it tests bears a mark here
                at = source.child(each, ("value",))
                if at is not None:
                    tokens = tuple(str(operation.get("path", "")).split("/")[1:])
                    operation["value"] = self._marked(at, file, tokens, source.line_of(each, ("value",)))
                kept.append(operation)
        return kept

    def _replacement(self, folder: Path, file: Path, text: str, node: yaml.Node, path: FieldPath) -> None:
        target = (folder / text).resolve()
        if target in self.done or not target.is_file():
            return
        self.done.add(target)
        values = []
        for document in source.load(target):
            value = copy.deepcopy(document.value)
            self._fields(folder, document.node, target, value, (("*", "sourceValue"), ("sourceValue",)), self._text)
            values.append(value)
        self._write(target, _dumped(values))

    def _configuration(self, folder: Path, file: Path, text: str, node: yaml.Node, path: FieldPath) -> str | None:
        if "\n" in text:
            return _dumped([self._document(each, file, folder) for each in source.compose_inside(node, file)]).decode()
        target = (folder / text).resolve()
        if target.is_dir():
            self._layer(self.layers[target])
        elif target.is_file() and target not in self.done:
            self.done.add(target)
            self._write(target, _dumped([self._document(document.node, target, folder) for document in source.load(target)]))
        return None

    def _generated(self, folder: Path, file: Path, text: str, node: yaml.Node, path: FieldPath) -> None:
        """A file that becomes a value: its whole text bears one mark, of an environment file each line."""
        target = (folder / text.rpartition("=")[2]).resolve()
        if target in self.done or not target.is_file():
            return
        self.done.add(target)
        try:
            content = target.read_bytes().decode()
        except UnicodeDecodeError:
            return
        if "files" in path:
            self._write(target, (content + self._new(target, None)).encode())
            return
        lines = [
            line + self._new(target, None, number) if "=" in line and not line.lstrip().startswith("#") else line
            for number, line in enumerate(content.splitlines(), 1)
        ]
        self._write(target, "\n".join(lines).encode())

    def _document(self, node: yaml.Node, file: Path, folder: Path | None) -> Any:
        self.rank += 1
        value = source.construct(node, file)
        if isinstance(value, dict) and value.get("apiVersion") == "builtin":
            self._config(folder or file.parent, node, file, value)
            self._fields(folder or file.parent, node, file, value, _FILES + _ENVS, self._generated)
            return value
        return self._marked(node, file, ())

    def _marked(self, node: yaml.Node, file: Path, path: tuple[str, ...], line: int | None = None) -> Any:
        """A value with marks; `line` is that of its key, where it has one."""
        if isinstance(node, yaml.MappingNode):
            value = {source.scalar(name): self._marked(child, file, (*path, name.value), _line(name)) for name, child in node.value}
            if isinstance(value.get("items"), list) and str(value.get("kind", "")).endswith("List"):
                return value
            return {**value, self._new(file, node, line): ""} if all(isinstance(key, str) for key in value) else value
        if isinstance(node, yaml.SequenceNode):
            return [self._marked(item, file, (*path, "-")) for item in node.value]
        value = source.scalar(node)
        if value is None or not self._may_be_marked(path) or (path[-1:] == ("image",) and ":" not in node.value.rpartition("/")[2]):
            return value
        return f"{node.value}{self._new(file, node, line)}"

    def _may_be_marked(self, path: tuple[str, ...]) -> bool:
        """Whether kustomize selects and merges by nothing of a value."""
        last = path[-1] if path else ""
        if last.startswith("$") or last in ("apiVersion", "kind", "namespace"):
            return False
        if last == "name" and path[-2:-1] == ("metadata",):
            return False
        if {"labels", "annotations"} & set(path[-2:]) and (last in self.selectors or "kustomize" in last or "config.kubernetes.io" in last):
            return False
        return not (last in _KEYS and len(path) > 1 and (path[-2] == "-" or path[-2].isdigit()))

    def _new(self, file: Path, node: yaml.Node | None, line: int | None = None) -> str:
        at = line or (_line(node) if node is not None else 1)
        self.written.append(Written(file=file, line=at, node=node, rank=self.rank))
        return f"_{_WORD}_{len(self.written) - 1}_"


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _matching(value: Any, pattern: tuple[str, ...], path: FieldPath = ()) -> Iterator[FieldPath]:
    if not pattern:
        yield path
    elif pattern[0] == "*":
        steps: Sequence[Step] = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
        for step in steps:
            yield from _matching(value[step], pattern[1:], (*path, step))
    elif isinstance(value, dict) and pattern[0] in value:
        yield from _matching(value[pattern[0]], pattern[1:], (*path, pattern[0]))


def _dumped(values: Sequence[Any]) -> bytes:
    """Documents as JSON, which is YAML."""
    return "\n---\n".join(json.dumps(value, ensure_ascii=False) for value in values).encode()
