"""What the tracer knows of a value, and of the moment when a script does something.

Only what the rules ask is kept: what made a value, whether it is the same on all workers, whether a data set ends.
What cannot be followed is `UNKNOWN`, and no rule calls an unknown value a fault.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

# What a job that trains on several workers has, so that a list of them is not empty.
DEVICES = ("tensorflow.config.list_physical_devices", "tensorflow.config.experimental.list_physical_devices")

WORKERS = "the number of workers"
PRODUCT, QUOTIENT = "operator.mul", "operator.floordiv"
_LARGEST = 2**62
_COMPARES: Mapping[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_NOT: Mapping[Callable[[int, int], bool], Callable[[int, int], bool]] = {
    operator.eq: operator.ne,
    operator.ne: operator.eq,
    operator.lt: operator.ge,
    operator.ge: operator.lt,
    operator.gt: operator.le,
    operator.le: operator.gt,
}
_OPPOSITES: Mapping[type[ast.cmpop], ast.cmpop] = {ast.NotEq: ast.Eq(), ast.IsNot: ast.Is(), ast.NotIn: ast.In()}


class Taint(enum.IntEnum):
    """Whether a value is the same in all workers of a job; GROUPS: in all of a kind, the chief and the others, say."""

    SAME = 0
    GROUPS = 1
    UNKNOWN = 2
    DIFFERS = 3


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Value:
    """An abstract value. `kind` says what `name` and `data` hold:

    constant (data: the value), library (name: dotted name), made (name: what was called, data: Call), function
    (data: Function), class (data: Class), object (data: Object), model (data: Model), dataset (data: Dataset),
    strategy (name), scope (data: the strategy), items (data: list of Item), mapping (data: dict), choice (data: tuple of
    values), method (name, data: its receiver), environ (name: the variable), tfconfig (name: the part of it), workers (how
    many there are), unknown. A constant of the name WORKERS is what a test of their number says where there are several.

    `rank` marks the worker's own index or type and what is decided by it; `text` is the known beginning of a string.
    """

    kind: str = "unknown"
    name: str = ""
    data: Any = None
    taint: Taint = Taint.UNKNOWN
    rank: bool = False
    text: str | None = None

    def options(self) -> Iterator[Value]:
        """The values that it may be."""
        if self.kind == "choice":
            for each in self.data:
                yield from each.options()
        else:
            yield self

    def is_made(self, *names: str) -> bool:
        return self.kind == "made" and self.name in names


UNKNOWN = Value()
SAME = Value(taint=Taint.SAME)
RANK = Value(taint=Taint.DIFFERS, rank=True)
KIND = Value(taint=Taint.GROUPS, rank=True)
NONE = Value(kind="constant", data=None, taint=Taint.SAME)


def constant(value: object) -> Value:
    return Value(kind="constant", data=value, taint=Taint.SAME, text=value if isinstance(value, str) else None)


def is_constant(value: Value, wanted: object) -> bool:
    return value.kind == "constant" and type(value.data) is type(wanted) and value.data == wanted


def of_workers(sides: Sequence[Value], op: ast.cmpop) -> bool | None:
    """Whether a comparison of the number of workers with a whole number holds for every number from two on, or for none."""
    if len(sides) != 2 or {sides[0].kind, sides[1].kind} != {"workers", "constant"}:
        return None
    limit = number(sides[0] if sides[1].kind == "workers" else sides[1])
    compare = _COMPARES.get(type(op))
    if limit is None or compare is None:
        return None
    numbers = (2, max(limit, 2), max(limit, 2) + 1)
    answers = {compare(each, limit) if sides[0].kind == "workers" else compare(limit, each) for each in numbers}
    return answers.pop() if len(answers) == 1 else None


def is_of_workers(value: Value) -> bool:
    return value.kind == "constant" and value.name == WORKERS


def taint_of(values: Iterable[Value]) -> Taint:
    return max((value.taint for value in values), default=Taint.SAME)


def choice(values: Sequence[Value], *, test: Value = SAME) -> Value:
    """One of some values, by a test: it differs between workers where the test does and the values do not agree."""
    flat = list({id(option): option for value in values for option in value.options()}.values())
    if not flat:
        return UNKNOWN
    if len(flat) == 1:
        return flat[0]
    flat = flat[:24]  # enough to tell apart; a script may multiply them without end
    if all(option.kind == "constant" for option in flat) and len({repr(option.data) for option in flat}) == 1:
        return flat[0]
    return Value(
        kind="choice",
        data=tuple(flat),
        taint=max(taint_of(flat), taint_of(values), test.taint),
        rank=test.rank or any(value.rank for value in (*flat, *values)),
        text=flat[0].text if len({option.text for option in flat}) == 1 else None,
    )


def renewed(value: Value, **changes: Any) -> Value:
    return dataclasses.replace(value, **changes)


def truth(value: Value) -> bool | None:
    """Whether a test is known to hold."""
    if value.kind == "constant":
        return bool(value.data)
    if value.is_made(*DEVICES):
        return True  # what is trained on several workers has them
    return False if value.kind == "library" and value.name.endswith("TYPE_CHECKING") else None


def as_test(value: Value) -> Value:
    """A value as a test: whether a variable is set says nothing of its content."""
    if value.kind in ("environ", "tfconfig") or is_constant(value, None):
        return SAME
    return value


def element_of(value: Value) -> Value:
    """One of the elements of a value that is iterated over."""
    if value.kind == "items" and value.data:
        return choice([item.value for item in value.data])
    return Value(taint=value.taint)


def number(value: Value | None) -> int | None:
    """A whole number, or the product or quotient of some."""
    if value is not None and value.kind == "constant" and isinstance(value.data, int) and not isinstance(value.data, bool):
        return value.data
    if value is None or not value.is_made(PRODUCT, QUOTIENT):
        return None
    left, right = (number(side) for side in value.data.args)
    if left is None or right is None or (value.name == QUOTIENT and not right) or max(abs(left), abs(right)) > _LARGEST:
        return None
    return left * right if value.name == PRODUCT else left // right


def parts(value: Value, count: int) -> Sequence[Value]:
    """The values that a tuple assignment takes from one."""
    options = list(value.options())
    if all(option.kind == "items" and len(option.data) == count for option in options):
        test = Value(taint=value.taint, rank=value.rank) if len(options) > 1 else SAME
        return [choice([option.data[number].value for option in options], test=test) for number in range(count)]
    if value.is_made("keras.datasets"):
        return [Value(kind="made", name="keras.datasets", data=value.data, taint=value.taint)] * count
    return [Value(taint=value.taint, rank=value.rank)] * count


@dataclasses.dataclass(slots=True, kw_only=True)
class Scope:
    """The names of a module or of one call of a function."""

    names: dict[str, Value] = dataclasses.field(default_factory=dict)
    parent: Scope | None = None
    shared: set[str] = dataclasses.field(default_factory=set)  # by `global` and `nonlocal`

    def find(self, name: str) -> Value | None:
        scope: Scope | None = self
        while scope:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None

    def bind(self, name: str, value: Value) -> None:
        scope = self
        if name in self.shared:
            scope = next((outer for outer in self.outer() if name in outer.names), list(self.outer())[-1])
        scope.names[name] = value

    def copy(self) -> Scope:
        """The same names, and lists and mappings of their own."""
        own = {name: renewed(each, data=each.data.copy()) for name, each in self.names.items() if each.kind in ("items", "mapping")}
        return Scope(names={**self.names, **own}, parent=self.parent, shared=self.shared)

    def outer(self) -> Iterator[Scope]:
        scope = self.parent
        while scope:
            yield scope
            scope = scope.parent


FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Function:
    node: FunctionNode
    scope: Scope
    owner: Value | None = None  # the object, for a bound method
    bound: tuple[Value, ...] = ()  # by functools.partial
    keywords: Mapping[str, Value] = dataclasses.field(default_factory=dict)
    home: Class | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Class:
    node: ast.ClassDef
    bases: tuple[Value, ...]
    members: dict[str, Value]

    def member(self, name: str) -> Value | None:
        if name in self.members:
            return self.members[name]
        for base in self.bases:
            found: Value | None = base.data.member(name) if base.kind == "class" else None
            if found:
                return found
        return None

    def lineage(self) -> Iterator[Class]:
        """Itself and the script's classes that it inherits from."""
        yield self
        for base in self.bases:
            if base.kind == "class":
                yield from base.data.lineage()

    def library_bases(self) -> Iterator[str]:
        for base in self.bases:
            if base.kind == "class":
                yield from base.data.library_bases()
            elif base.kind == "library":
                yield base.name


@dataclasses.dataclass(slots=True, kw_only=True, eq=False)
class Model:
    """A Keras model; `scoped`: it was made in a scope of MultiWorkerMirroredStrategy (None: not known), `built`: with its variables."""

    scoped: bool | None
    built: bool = False


@dataclasses.dataclass(slots=True, kw_only=True, eq=False)
class Object:
    kind: Class | None
    attributes: dict[str, Value] = dataclasses.field(default_factory=dict)
    model: Model | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A tf.data pipeline. `infinite`: it never ends (None: not known). `files`: read from files, so sharded by file.

    `full`: only whole batches. `unsharded`: every worker reads all of it. `sharded`: by the script itself.
    `counted`: tf.data knows its cardinality (None: not known). `samples` are those of one pass, `batch` is the size of a batch.
    `source`, where auto-sharding finds nothing else: one "file", the "name" of one file, "memory"; `line`: where it was made so.
    """

    infinite: bool | None = False
    files: bool = False
    full: bool = False
    counted: bool | None = None
    samples: Value | None = None
    batch: Value | None = None
    unsharded: bool = False
    sharded: bool = False
    policy: str = ""
    source: str = ""
    line: int = 0

    @property
    def even(self) -> bool:
        """All workers get the same number of batches."""
        if self.sharded:
            return False
        by_file = self.policy == "FILE" or (self.files and self.policy not in ("DATA", "OFF"))
        return self.unsharded or self.policy == "OFF" or (self.full and not by_file)


@dataclasses.dataclass(frozen=True, slots=True)
class Question:
    """What a test asks: whether a `subject`, as the script writes it, compares so with a whole number."""

    subject: str
    compare: Callable[[int, int], bool]
    limit: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One arm of a decision that was taken; `root` marks a function that nothing in the script calls.

    `asks`: what holds in this arm, None for one of several arms.
    """

    node: int
    arm: int
    test: Value = SAME
    source: str = ""
    asks: Question | None = None
    root: bool = False
    lasts: str = ""  # after an early return or exit: until the end of the "loop", "try", "function" or "program"


Path = tuple[Branch, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Item:
    value: Value
    path: Path


def extended(items: Sequence[Item], more: Sequence[Item]) -> list[Item]:
    """Both, but no more than a script needs: lists that are added to themselves double with each statement."""
    return [*items[:256], *more[:256]]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Call:
    """The arguments of a call; `complete` is false where *args or **kwargs could not be followed."""

    args: tuple[Value, ...] = ()
    kwargs: Mapping[str, Value] = dataclasses.field(default_factory=dict)
    complete: bool = True
    attributes: dict[str, Value] = dataclasses.field(default_factory=dict)  # set afterwards on what was made

    def get(self, position: int, *names: str) -> Value | None:
        """An argument by its position (-1: by keyword only) or one of its names."""
        for name in names:
            if name in self.kwargs:
                return self.kwargs[name]
        return self.args[position] if 0 <= position < len(self.args) else None

    def values(self) -> list[Value]:
        return [*self.args, *self.kwargs.values()]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Event:
    """Something that the script does, in the order of execution.

    `kind`: call (of a library's `name`), method (`name` of `receiver`), write or read (of the environment variable `name`),
    import, opaque (a call that cannot be followed). `scoped`: in a scope of the strategy (None: not known);
    `origin`: where it stands, if not in the script itself but in a module that its line imports. `alone`: where it happens
    no strategy over several workers is made.
    """

    kind: str
    name: str
    line: int
    path: Path
    call: Call = Call()
    receiver: Value = UNKNOWN
    result: Value = UNKNOWN
    scoped: bool | None = None
    origin: str = ""
    alone: bool = False

    def certain_at(self, later: Event) -> bool:
        """Whether it has happened for certain when `later` happens: every decision that leads here leads there, too."""
        return all(any(same(mine, other) for other in later.path) for mine in self.path)

    def possible_at(self, later: Event) -> bool:
        """Whether no decision keeps the two apart."""
        return not any(apart(mine, other) for mine in self.path for other in later.path)

    @property
    def rank_branches(self) -> list[Branch]:
        return [branch for branch in self.path if branch.test.rank]


def same(one: Branch, other: Branch) -> bool:
    """The same arm of one decision, or of two that ask the same."""
    return one.arm == other.arm and _one_question(one, other)


def apart(one: Branch, other: Branch) -> bool:
    return (one.arm != other.arm and _one_question(one, other)) or _exclude(one.asks, other.asks)


def question(test: ast.expr, arm: int) -> Question:
    """What holds in the first or the second arm of a decision: a test of anything else than a number asks whether it is true."""
    compare: Callable[[int, int], bool] = operator.ne
    limit = 0
    match test:
        case ast.UnaryOp(op=ast.Not()):
            return question(test.operand, 1 - arm)
        case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=int(value))]) if type(op) in _COMPARES:
            test, compare, limit = left, _COMPARES[type(op)], int(value)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPPOSITES:
            test, compare = ast.Compare(left=left, ops=[_OPPOSITES[type(op)]], comparators=[right]), operator.eq
    return Question(ast.unparse(test), _NOT[compare] if arm else compare, limit)


def _exclude(one: Question | None, other: Question | None) -> bool:
    """Whether no whole number answers both."""
    if one is None or other is None or one.subject != other.subject:
        return False
    numbers = {limit + step for limit in (one.limit, other.limit) for step in (-1, 0, 1)}
    return not any(one.compare(each, one.limit) and other.compare(each, other.limit) for each in numbers)


def _one_question(one: Branch, other: Branch) -> bool:
    return one.node == other.node or bool(one.source and one.source == other.source != "except")
