"""YAML files as people wrote them: parsed with positions, and refused where they are broken or hostile.

PyYAML's C parser gives nodes with line numbers. Scalars are read as the API server's parser reads them: no dates, no
sexagesimal numbers.
"""

from __future__ import annotations

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

_FLOAT = re.compile(r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$|^[-+]?\.(?:inf|Inf|INF)$|^\.(?:nan|NaN|NAN)$")
_INT = re.compile(r"^[-+]?(?:0|[1-9][0-9]*)$|^[-+]?0o?[0-7]+$|^[-+]?0x[0-9a-fA-F]+$|^[-+]?0b[01]+$")


class _Loader(yaml.CSafeLoader):
    """The safe C loader with the scalar rules of Kubernetes' YAML parser."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's class attribute
        first: [(tag, rule) for tag, rule in rules if tag.rpartition(":")[2] not in ("timestamp", "float", "int", "value")]
        for first, rules in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }


def _integer(loader: yaml.CSafeLoader, node: yaml.ScalarNode) -> int:
    text = str(loader.construct_scalar(node)).lower()
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text.lstrip("+"))
    if digits.startswith(("0x", "0b", "0o")):
        return sign * int(digits, 0)
    return sign * int(digits, 8 if len(digits) > 1 and digits.startswith("0") else 10)


def _finite(loader: yaml.CSafeLoader, node: yaml.ScalarNode) -> float:
    """JSON, which the API server speaks, has neither infinity nor NaN."""
    number = float(loader.construct_yaml_float(node))
    if not math.isfinite(number):
        raise yaml.constructor.ConstructorError(None, None, f"{node.value} is no finite number (quote it)", node.start_mark)
    return number


_Loader.add_constructor("tag:yaml.org,2002:float", _finite)
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", _INT, list("-+0123456789"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789."))
_Loader.add_constructor("tag:yaml.org,2002:int", _integer)


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
    errors = sorted(_validator(schema).iter_errors(document.value), key=lambda error: list(map(str, error.absolute_path)))
    if errors:
        error = errors[0]
        path = tuple(error.absolute_path)
        where = f"{dotted(path)}: " if path else ""
        said = error.message
        if error.validator in ("anyOf", "pattern") and isinstance(error.schema, dict) and "description" in error.schema:
            said = f"{error.instance!r:.80} is not as it must be: {error.schema['description']}"
        hint = " (quote it)" if error.validator == "type" and isinstance(error.instance, int | float) else ""
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise GateError(f"{where}{said}{hint}{more}", file=file, line=document.line(path))
    return document


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
    except (ValueError, RecursionError, OverflowError) as error:
        raise GateError(f"is not valid YAML: {error}", file=file, line=int(node.start_mark.line) + 1) from error
    finally:
        loader.dispose()
