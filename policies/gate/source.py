"""YAML files as people wrote them: parsed with positions, and refused where they are broken or hostile.

PyYAML's C parser gives nodes with line numbers. Scalars are read as the API server's parser reads them: `y` and `on` are
booleans, 1e3 is an integer, and there are no dates and no sexagesimal numbers.
"""

from __future__ import annotations

import binascii
import functools
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from gate.model import FieldPath, GateError, Step, dotted

MAX_BYTES = 8 * 1024 * 1024
MAX_NODES = 500_000
MAX_DEPTH = 200

_TAG = "tag:yaml.org,2002:"
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_INT = re.compile(r"([-+]?)(?:(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|[1-9][0-9]*|0)|0([0-7]+))")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_LONGEST = 100  # of any integer that there is
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


def plain(text: str) -> bool | int | float | str | None:
    """A scalar that is not quoted, as the API server's YAML parser (go-yaml 2) and its way through JSON read it."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    if _NOT_FINITE.fullmatch(text):
        return math.nan if "n" in text.lower()[-3:] and "inf" not in text.lower() else math.inf
    digits = text if text[0] == "." else text.replace("_", "")
    if len(digits) < _LONGEST and (match := _INT.fullmatch(digits)):
        number = int(match[2], 0) if match[2] else int(match[3], 8)
        number = -number if match[1] == "-" else number
        if -(2**63) <= number < (2**63 if match[1] else 2**64):
            return number
    if _FLOAT.fullmatch(digits) and math.isfinite(value := float(digits)):
        return int(value) if value.is_integer() and -(2**63) < value < 1e21 else value
    return text


class _Loader(yaml.CSafeLoader):
    """The safe C loader with the scalar rules of Kubernetes' YAML parser, for which all keys are strings."""

    nodes = 0

    def descend_resolver(self, node: Any, index: Any) -> None:
        """Called for each node before it is there."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise yaml.YAMLError(f"it holds more than {MAX_NODES} values")

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        if kind is yaml.ScalarNode and implicit[0]:
            if value == "<<":
                return f"{_TAG}merge"
            found = plain(value)
            return _TAG + {bool: "bool", int: "int", float: "float", str: "str", type(None): "null"}[type(found)]
        return str(super().resolve(kind, value, implicit))  # type: ignore[no-untyped-call]

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        self.flatten_mapping(node)
        found: dict[Any, Any] = {}
        for at, value in node.value:
            key = self.construct_object(at, deep=True)
            if key is None:
                raise yaml.constructor.ConstructorError(None, None, "a key is null (quote it)", at.start_mark)
            name = str(key).lower() if isinstance(key, bool) else str(key)
            found[name] = self.construct_object(value, deep=deep)
        return found


def _scalar(loader: yaml.CSafeLoader, node: yaml.ScalarNode) -> Any:
    """A scalar that is, or is said to be, no string. JSON, which the API server speaks, has neither infinity nor NaN."""
    tag, value = node.tag.removeprefix(_TAG), plain(loader.construct_scalar(node))
    if isinstance(value, float) and not math.isfinite(value):
        raise yaml.constructor.ConstructorError(None, None, f"{node.value} is no finite number (quote it)", node.start_mark)
    fits = {"bool": bool, "int": int, "float": int | float, "null": type(None)}[tag]
    if not isinstance(value, fits) or (isinstance(value, bool) and tag != "bool"):
        raise yaml.constructor.ConstructorError(None, None, f"{node.value!r} is no {tag}", node.start_mark)
    return value


def _text(loader: yaml.CSafeLoader, node: yaml.ScalarNode) -> str:
    return str(loader.construct_scalar(node))


def _binary(loader: yaml.CSafeLoader, node: yaml.ScalarNode) -> str:
    return binascii.a2b_base64("".join(str(loader.construct_scalar(node)).split()), strict_mode=True).decode()


_Loader.add_constructor(f"{_TAG}binary", _binary)
for _name in ("bool", "int", "float", "null"):
    _Loader.add_constructor(_TAG + _name, _scalar)
for _name in ("merge", "timestamp"):
    _Loader.add_constructor(_TAG + _name, _text)
for _name in ("set", "omap", "pairs"):
    del _Loader.yaml_constructors[_TAG + _name]  # no JSON


class Document:
    """One YAML document of a file."""

    def __init__(self, file: Path, node: yaml.Node) -> None:
        self.file = file
        self.node = node

    @functools.cached_property
    def value(self) -> Any:
        """The document as plain data."""
        return construct(self.node, self.file)

    def line(self, path: Sequence[Step] = ()) -> int:
        """The line (from 1) of the field at `path`, or of its nearest existing ancestor."""
        return line_of(self.node, path)


def read_text(file: Path) -> str:
    """A file's text. Raises GateError where it is missing, too large, or not UTF-8."""
    try:
        if not file.is_file():
            raise GateError("is no regular file" if file.exists() else "does not exist", file=file)
        if leads_out(file):
            raise GateError("is a link that leads out of the repository", file=file)
        with file.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise GateError(f"is larger than {MAX_BYTES // 1024 // 1024} MiB: no manifest is", file=file)
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = file.read_bytes()[: error.start].count(b"\n") + 1
        raise GateError(f"is not UTF-8 (byte {error.start}): save it as UTF-8", file=file, line=line) from error
    except (OSError, ValueError) as error:
        raise GateError(f"cannot be read: {getattr(error, 'strerror', None) or error}", file=file) from error


def shown(root: Path, path: Path) -> str:
    """A path as it stands in a repository, whole where it does not."""
    resolved, home = path.resolve(), root.resolve()
    return str(resolved.relative_to(home)) if resolved.is_relative_to(home) else str(path)


def leads_out(file: Path) -> bool:
    """Whether a file stands in a repository (the nearest folder upwards that has clusters/) and its content does not."""
    home = repository(file.absolute().parent)
    return home is not None and not file.resolve().is_relative_to(home.resolve())


def repository(folder: Path) -> Path | None:
    """The nearest folder that has clusters/, from this one upwards."""
    return next((path for path in (folder, *folder.parents) if (path / "clusters").is_dir()), None)


@functools.lru_cache(maxsize=4096)
def load(file: Path) -> tuple[Document, ...]:
    """The non-empty documents of a YAML file. Raises GateError for what a person has to mend first."""
    return tuple(Document(file, node) for node in compose(read_text(file), file))


def load_valid(file: Path, schema: Path) -> Document:
    """The one document of a file of the gate's own kind. Raises GateError at the line that breaks its JSON Schema."""
    documents = load(file)
    if len(documents) != 1:
        raise GateError("must hold exactly one document", file=file)
    (document,) = documents
    if errors := list(_validator(schema).iter_errors(document.value)):
        told = sorted((document.line(tuple(error.absolute_path)), _said(error)) for error in errors)
        (line, first), *others = told[:_SHOWN]
        rest = [f"line {number}: {said}" for number, said in others]
        rest += [f"and {len(told) - _SHOWN} more"] if len(told) > _SHOWN else []
        raise GateError("; ".join([first, *rest]), file=file, line=line)
    return document


_SHOWN = 10
_TYPES = {
    "object": "a mapping",
    "array": "a list",
    "string": "a string (quote it)",
    "integer": "a whole number",
    "boolean": "true or false",
}


def _said(error: jsonschema.ValidationError) -> str:
    """What a JSON Schema says of a value, in words of YAML."""
    path = tuple(error.absolute_path)
    where = f"{dotted(path)}: " if path else ""
    found = f"{json.dumps(error.instance, default=str):.80}"
    if error.validator in ("anyOf", "pattern") and isinstance(error.schema, dict) and "description" in error.schema:
        return f"{where}{found} is not as it must be: {error.schema['description']}"
    if error.validator == "type" and isinstance(error.validator_value, str):
        return f"{where}{found} is not {_TYPES.get(error.validator_value, error.validator_value)}"
    if error.validator == "required":
        return f"{where}{error.message.replace(' is a required property', ' is missing')}"
    return f"{where}{error.message}"


@functools.cache
def _validator(schema: Path) -> jsonschema.protocols.Validator:
    return jsonschema.Draft7Validator(json.loads(schema.read_text(encoding="utf-8")))


def parse(text: str, file: Path) -> list[Any]:
    """The documents of a rendered stream as plain data; `file` is named in errors."""
    return [construct(node, file) for node in compose(text, file)]


def line_of(node: yaml.Node, path: Sequence[Step]) -> int:
    """The line (from 1) of the key or element at `path` below `node`, or of its nearest existing ancestor."""
    return find(node, path)[1]


def find(node: yaml.Node, path: Sequence[Step]) -> tuple[int, int]:
    """How many steps of `path` exist below `node`, and the line (from 1) of the last of them."""
    line = int(node.start_mark.line) + 1
    for depth, step in enumerate(path):
        if isinstance(node, yaml.MappingNode):
            entry = next(((k, v) for k, v in node.value if k.value == step), None)
            if entry is None:
                return depth, line
            line, node = int(entry[0].start_mark.line) + 1, entry[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            line = int(node.start_mark.line) + 1
        else:
            return depth, line
    return len(path), line


def text_lines(node: yaml.ScalarNode, file: Path) -> list[int]:
    """For each line of a scalar's text the line (from 1) of the file that it stands in."""
    first, text = int(node.start_mark.line), str(node.value).split("\n")
    if node.style == "|":
        return [first + 2 + number for number in range(len(text))]
    # folded and quoted text is broken elsewhere than where it is written: each line by the words that it begins with
    written = read_text(file).split("\n")[first : int(node.end_mark.line) + 1]
    lines, at = [], 0
    for number, line in enumerate(text):
        words = line.split()
        found = range(at + 1 if number else 0, len(written)) if words else ()
        at = next((each for each in found if (begun := written[each].split()) and begun == words[: len(begun)]), at)
        lines.append(first + 1 + at)
    return lines


def compose_inside(node: yaml.Node, file: Path) -> list[yaml.Node]:
    """The documents of YAML that is the text of a scalar, at their lines in the file."""
    if not isinstance(node, yaml.ScalarNode):
        return []
    lines = text_lines(node, file)
    return list(compose(str(node.value), file, lambda line: lines[min(line, len(lines)) - 1]))


def _move(root: yaml.Node, file: Path, line_in_file: Callable[[int], int]) -> None:
    seen = set[int]()

    def moved(mark: yaml.Mark) -> yaml.Mark:
        return yaml.Mark(str(file), 0, line_in_file(int(mark.line) + 1) - 1, int(mark.column), None, 0)

    def move(node: yaml.Node) -> None:
        if id(node) in seen:
            return
        seen.add(id(node))
        node.start_mark, node.end_mark = moved(node.start_mark), moved(node.end_mark)
        for part in node.value if isinstance(node, yaml.CollectionNode) else ():
            for inner in part if isinstance(part, tuple) else (part,):
                move(inner)

    move(root)


def scalar(node: yaml.Node) -> Any:
    """A scalar node as plain data."""
    loader = _Loader("")
    try:
        return loader.construct_object(node)
    finally:
        loader.dispose()


def child(node: yaml.Node | None, path: FieldPath) -> yaml.Node | None:
    """The node at `path`, or None."""
    for step in path:
        if isinstance(node, yaml.MappingNode):
            node = next((v for k, v in node.value if k.value == step), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
        else:
            return None
    return node


def compose(text: str, file: Path, line_in_file: Callable[[int], int] | None = None) -> Iterator[yaml.Node]:
    """The non-empty documents of a text. `line_in_file` tells where its lines (from 1) stand if it is a part of the file."""
    loader = _Loader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            if node is None or node.tag == "tag:yaml.org,2002:null":
                continue
            if line_in_file:
                _move(node, file, line_in_file)
            _refuse_explosions(node, file)
            yield node
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(str(part) for part in (error.context, error.problem) if part)
        line = mark.line + 1 if mark else None
        raise GateError(f"is not valid YAML: {what}", file=file, line=line_in_file(line) if line and line_in_file else line) from error
    except yaml.YAMLError as error:
        reason = getattr(error, "reason", None) or str(error).splitlines()[0]
        raise GateError(f"is not valid YAML: {reason}", file=file) from error
    except RecursionError as error:
        raise GateError(f"is nested deeper than {MAX_DEPTH} levels", file=file) from error
    finally:
        loader.dispose()


def _refuse_explosions(root: yaml.Node, file: Path) -> None:
    """Refuses duplicate keys, aliases that contain themselves, and documents that aliases blow up.

    Sizes are summed over the graph, each node once, so that an exploding document is never expanded to measure it.
    """
    sizes: dict[int, int] = {}
    active: set[int] = set()

    def size(node: yaml.Node, depth: int) -> int:
        if id(node) in sizes:
            return sizes[id(node)]
        line = int(node.start_mark.line) + 1
        if id(node) in active:
            raise GateError("has an alias that contains itself", file=file, line=line)
        if depth > MAX_DEPTH:
            raise GateError(f"is nested deeper than {MAX_DEPTH} levels", file=file, line=line)
        active.add(id(node))
        total = 1
        if isinstance(node, yaml.MappingNode):
            keys: dict[tuple[str, str], int] = {}
            for key, value in node.value:
                at = int(key.start_mark.line) + 1
                if not isinstance(key, yaml.ScalarNode):
                    raise GateError("has a key that is not a plain string", file=file, line=at)
                if first := keys.get((key.tag, key.value)):
                    raise GateError(f"has the key {key.value!r} twice (first in line {first}): keep one", file=file, line=at)
                keys[(key.tag, key.value)] = at
                total += 1 + size(value, depth + 1)
        elif isinstance(node, yaml.SequenceNode):
            total += sum(size(item, depth + 1) for item in node.value)
        active.discard(id(node))
        if total > MAX_NODES:
            raise GateError(f"grows to more than {MAX_NODES} values through its aliases", file=file, line=line)
        sizes[id(node)] = total
        return total

    size(root, 0)


def construct(node: yaml.Node, file: Path) -> Any:
    loader = _Loader("")
    try:
        return loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise GateError(f"is not valid YAML: {error.problem}", file=file, line=line) from error
    except (ValueError, RecursionError, OverflowError, TypeError) as error:
        raise GateError(f"is not valid YAML: {error}", file=file, line=int(node.start_mark.line) + 1) from error
    finally:
        loader.dispose()
