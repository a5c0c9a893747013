"""Expressions: what a value is, and what happens on the way to it, in the order in which Python evaluates them."""

from __future__ import annotations

import ast
import builtins
import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from gate.scripts import _keras, _library, _names
from gate.scripts._values import (
    DEVICES,
    PRODUCT,
    QUOTIENT,
    RANK,
    SAME,
    UNKNOWN,
    WORKERS,
    Branch,
    Call,
    Class,
    Event,
    Function,
    Item,
    Model,
    Object,
    Path,
    Scope,
    Taint,
    Value,
    as_test,
    choice,
    constant,
    element_of,
    extended,
    is_constant,
    is_of_workers,
    of_workers,
    parts,
    question,
    renewed,
    taint_of,
    truth,
)

_STEPS = 40_000  # a script that takes more is not followed to its end


class OutOfSteps(Exception):
    """The script is too much to follow; what was seen until here stands."""


class Evaluator:
    """Evaluates expressions and notes events. `Tracer` adds statements and the calls of the script's own functions."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.path: Path = ()
        self.scopes: list[bool | None] = []  # the strategies' scopes that are entered: of our strategy, or not known
        self.ended = False  # the program has left through sys.exit
        self.returned: list[tuple[Value, Path]] = []  # by the function that is entered
        self.environment: dict[str, Value] = {}  # what the script itself has set
        self.compiled: set[ast.AST] = set()  # by tf.function
        self.defaults: dict[ast.AST, dict[str, Value]] = {}
        self.steps = 0
        self.line = 1

    @property
    def scoped(self) -> bool | None:
        return True if True in self.scopes else None if None in self.scopes else False

    def emit(self, kind: str, name: str, *, call: Call | None = None, receiver: Value = UNKNOWN, result: Value = UNKNOWN) -> None:
        self.step()
        given = call or Call()
        self.events.append(
            Event(kind=kind, name=name, line=self.line, path=self.path, call=given, receiver=receiver, result=result, scoped=self.scoped)
        )

    def step(self) -> None:
        self.steps += 1
        if self.steps > _STEPS:
            raise OutOfSteps

    @contextlib.contextmanager
    def under(self, *branches: Branch) -> Iterator[None]:
        before, self.path = self.path, self.path + branches
        try:
            yield
        finally:
            self.path = before

    def aside(self, run: Callable[[Scope], object], scope: Scope) -> None:
        """Runs what a job of several workers does not do. Its events are marked, and nothing else of it stays."""
        before = len(self.events)
        path, scopes, environment, returned = self.path, list(self.scopes), dict(self.environment), list(self.returned)
        try:
            run(scope.copy())
        finally:
            self.events[before:] = [dataclasses.replace(event, alone=True) for event in self.events[before:]]
        self.path, self.scopes, self.environment, self.returned, self.ended = path, scopes, environment, returned, False

    def enter(self, function: Function, call: Call) -> Value:
        raise NotImplementedError

    def evaluate(self, node: ast.expr | None, scope: Scope) -> Value:
        if node is None:
            return UNKNOWN
        self.step()
        handler: Callable[[Any, Scope], Value] | None = getattr(self, f"_{type(node).__name__.lower()}", None)
        if handler:
            return handler(node, scope)
        return renewed(SAME, taint=taint_of([self.evaluate(child, scope) for child in _children(node)]))

    def branch(self, node: ast.AST, arm: int, test: Value, source: ast.expr, lasts: str = "", *, one_of_several: bool = False) -> Branch:
        asks = None if one_of_several else question(source, arm)
        return Branch(node=id(node), arm=arm, test=as_test(test), source=ast.unparse(source), asks=asks, lasts=lasts)

    # Names and literals

    def _constant(self, node: ast.Constant, scope: Scope) -> Value:
        return constant(node.value)

    def _name(self, node: ast.Name, scope: Scope) -> Value:
        found = scope.find(node.id)
        if found:
            return found
        if node.id == "__name__":
            return constant("__main__")
        if hasattr(builtins, node.id):
            return Value(kind="library", name=f"builtins.{node.id}", taint=Taint.SAME)
        return RANK if _names.says_rank(node.id) else UNKNOWN

    def _namedexpr(self, node: ast.NamedExpr, scope: Scope) -> Value:
        value = self.evaluate(node.value, scope)
        scope.bind(node.target.id, value)
        return value

    def _joinedstr(self, node: ast.JoinedStr, scope: Scope) -> Value:
        parts = [self.evaluate(part.value if isinstance(part, ast.FormattedValue) else part, scope) for part in node.values]
        text = parts[0].text if parts else ""
        return Value(kind="made", name="builtins.str", data=Call(args=tuple(parts)), taint=taint_of(parts), text=text)

    def _list(self, node: ast.List | ast.Tuple | ast.Set, scope: Scope) -> Value:
        items: list[Item] = []
        for element in node.elts:
            value = self.evaluate(element.value if isinstance(element, ast.Starred) else element, scope)
            if isinstance(element, ast.Starred) and value.kind == "items":
                items = extended(items, value.data)
            else:
                items.append(Item(value=value, path=self.path))
        return Value(kind="items", data=items, taint=taint_of(item.value for item in items))

    _tuple = _set = _list

    def _dict(self, node: ast.Dict, scope: Scope) -> Value:
        found: dict[object, Value] = {}
        taint = Taint.SAME
        for key, element in zip(node.keys, node.values, strict=True):
            value = self.evaluate(element, scope)
            name = self.evaluate(key, scope)
            taint = max(taint, value.taint)
            if key is None and value.kind == "mapping":
                found |= value.data
            elif name.kind == "constant":
                found[name.data] = value
        return Value(kind="mapping", data=found, taint=taint)

    def _listcomp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, scope: Scope) -> Value:
        inner = Scope(parent=scope)
        taint = Taint.SAME
        for generator in node.generators:
            source = self.evaluate(generator.iter, inner)
            taint = max(taint, source.taint)
            self.assign(generator.target, element_of(source), inner)
            for test in generator.ifs:
                taint = max(taint, self.evaluate(test, inner).taint)
        elements = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        return Value(taint=max(taint, taint_of([self.evaluate(element, inner) for element in elements])))

    _setcomp = _generatorexp = _dictcomp = _listcomp

    def _lambda(self, node: ast.Lambda, scope: Scope) -> Value:
        self.remember_defaults(node, scope)
        return Value(kind="function", data=Function(node=node, scope=scope), taint=Taint.SAME)

    def remember_defaults(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, scope: Scope) -> None:
        """Defaults are evaluated where the function is defined, not where it is called."""
        arguments = node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        pairs = [*zip(reversed(positional), reversed(arguments.defaults), strict=False)]
        found = {argument.arg: self.evaluate(default, scope) for argument, default in pairs}
        found |= {a.arg: self.evaluate(d, scope) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None}
        self.defaults[node] = found

    # Operators

    def _ifexp(self, node: ast.IfExp, scope: Scope) -> Value:
        test = self.evaluate(node.test, scope)
        known = truth(test)
        if is_of_workers(test):
            self.aside(lambda other: self.evaluate(node.orelse if known else node.body, other), scope)
        if known is not None:
            return self.evaluate(node.body if known else node.orelse, scope)
        arms = []
        for arm, expression in enumerate((node.body, node.orelse)):
            with self.under(self.branch(node, arm, test, node.test)):
                arms.append(self.evaluate(expression, scope))
        return choice(arms, test=as_test(test))

    def _boolop(self, node: ast.BoolOp, scope: Scope) -> Value:
        values = [self.evaluate(node.values[0], scope)]
        stop = isinstance(node.op, ast.Or)
        if truth(values[0]) is stop:
            return values[0]
        with contextlib.ExitStack() as stack:
            for number, operand in enumerate(node.values[1:]):
                stack.enter_context(self.under(self.branch(operand, int(stop), values[-1], node.values[number])))
                values.append(self.evaluate(operand, scope))
        known = [truth(value) for value in values]
        if stop in known and all(each is not None for each in known[: known.index(stop)]):
            return values[known.index(stop)]
        return choice([value for value, each in zip(values, known, strict=True) if each is None or each is stop or value is values[-1]])

    def _unaryop(self, node: ast.UnaryOp, scope: Scope) -> Value:
        value = self.evaluate(node.operand, scope)
        if isinstance(node.op, ast.Not):
            known = truth(value)
            tested = as_test(value)
            if known is not None:
                return renewed(constant(not known), name=WORKERS if is_of_workers(value) else "")
            return Value(taint=tested.taint, rank=tested.rank)
        if isinstance(node.op, ast.USub) and value.kind == "constant" and isinstance(value.data, int | float):
            return constant(-value.data)
        return Value(taint=value.taint, rank=value.rank)

    def _binop(self, node: ast.BinOp, scope: Scope) -> Value:
        left, right = self.evaluate(node.left, scope), self.evaluate(node.right, scope)
        if left.kind == "items" and right.kind == "items" and isinstance(node.op, ast.Add):
            return Value(kind="items", data=extended(left.data, right.data), taint=taint_of((left, right)))
        if left.kind == "mapping" and right.kind == "mapping":
            return Value(kind="mapping", data={**left.data, **right.data}, taint=taint_of((left, right)))
        text = left.text if isinstance(node.op, ast.Add | ast.Div) else None
        if isinstance(node.op, ast.Mod) and left.text is not None:
            text = left.text.partition("%")[0]
        for side in (left, right):
            if side.kind in ("made", "model", "method") and _library.is_tensor(side):
                self.emit("call", "tensorflow.operator")
        rank = left.rank or right.rank
        if isinstance(node.op, ast.Mult | ast.FloorDiv):
            name = PRODUCT if isinstance(node.op, ast.Mult) else QUOTIENT
            return Value(kind="made", name=name, data=Call(args=(left, right)), taint=taint_of((left, right)), rank=rank)
        if isinstance(node.op, ast.Div) and text is not None:
            call = Call(args=(left, right))
            return Value(kind="made", name="pathlib.Path", data=call, taint=taint_of(call.args), rank=rank, text=text)
        return Value(taint=taint_of((left, right)), rank=rank, text=text)

    def _compare(self, node: ast.Compare, scope: Scope) -> Value:
        sides = [self.evaluate(side, scope) for side in (node.left, *node.comparators)]
        if any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops) or any(side.name == "os.environ" for side in sides):
            return SAME  # whether there is one at all
        if len(sides) == 2 and sides[0].is_made(*DEVICES) and is_constant(sides[1], 0) and isinstance(node.ops[0], ast.Gt | ast.NotEq):
            return constant(True)
        several = of_workers(sides, node.ops[0])
        if several is not None:
            return renewed(constant(several), name=WORKERS)
        if len(sides) == 2 and all(side.kind == "constant" for side in sides) and isinstance(node.ops[0], ast.Eq | ast.NotEq):
            return constant((sides[0].data == sides[1].data) == isinstance(node.ops[0], ast.Eq))
        texts = {option.data for side in sides for option in side.options() if option.kind == "constant" and isinstance(option.data, str)}
        rank = any(side.rank for side in sides) and not texts & {"evaluator", "ps"}  # those take part in no collective
        taint = taint_of(sides)
        return Value(taint=Taint.GROUPS if taint is Taint.DIFFERS else taint, rank=rank)

    # Parts

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Value:
        base = self.evaluate(node.value, scope)
        self.line = node.lineno
        return self.attribute(base, node.attr)

    def attribute(self, base: Value, name: str) -> Value:
        if base.kind == "choice":
            found = choice([self.attribute(option, name) for option in base.options()])
            return renewed(found, taint=max(found.taint, base.taint)) if base.taint is Taint.DIFFERS else found
        if base.kind == "object":
            return self._member(base, name)
        if base.kind == "class":
            return base.data.member(name) or UNKNOWN
        return _library.attribute(base, name)

    def _member(self, base: Value, name: str) -> Value:
        thing: Object = base.data
        if name in thing.attributes:
            return thing.attributes[name]
        member = thing.kind.member(name) if thing.kind else None
        for each in member.options() if member else ():
            if each.kind != "function" or isinstance(each.data.node, ast.Lambda):
                continue
            decorators = {ast.unparse(decorator).rpartition(".")[2] for decorator in each.data.node.decorator_list}
            if "staticmethod" in decorators:
                return each
            bound = Function(node=each.data.node, scope=each.data.scope, owner=base, home=each.data.home)
            if decorators & {"property", "cached_property"}:
                return self.enter(bound, Call())
            return Value(kind="function", data=bound, taint=Taint.SAME)
        if member:
            return member
        if name == "model" and _keras.is_callback(base):
            return Value(kind="model", data=Model(scoped=None), taint=Taint.SAME)
        if _names.says_rank(name):
            return RANK
        return Value(kind="method", name=name, data=base, taint=Taint.UNKNOWN)

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Value:
        base = self.evaluate(node.value, scope)
        key = self.evaluate(node.slice, scope)
        self.line = node.lineno
        if base.name == "os.environ" and base.kind == "library":
            return _library.read_variable(self, key, None)
        return choice([_library.subscript(option, key) for option in base.options()])

    # Calls

    def _call(self, node: ast.Call, scope: Scope) -> Value:
        target = self.evaluate(node.func, scope)
        if target.kind == "library" and target.name == "builtins.super":
            owner = scope.find("__owner__")
            return Value(kind="super", data=(owner, scope.find("__home__")))
        call = self.arguments(node, scope)
        self.line = node.lineno
        results = []
        for arm, option in enumerate(target.options()):
            chosen = (
                [self.branch(node, arm, Value(taint=target.taint, rank=True), node.func, one_of_several=True)]
                if target.kind == "choice" and target.rank
                else []
            )
            with self.under(*chosen):
                results.append(self.apply(option, call))
        result = choice(results, test=Value(taint=target.taint, rank=target.rank) if target.kind == "choice" else SAME)
        if result.kind == "unknown" and result.taint is not Taint.SAME and isinstance(node.func, ast.Name | ast.Attribute):
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            if _names.says_rank(name) and target.kind in ("unknown", "library", "method"):
                return RANK
        return result

    def arguments(self, node: ast.Call, scope: Scope) -> Call:
        args: list[Value] = []
        kwargs: dict[str, Value] = {}
        complete = True
        for argument in node.args:
            value = self.evaluate(argument.value if isinstance(argument, ast.Starred) else argument, scope)
            if not isinstance(argument, ast.Starred):
                args.append(value)
            elif value.kind == "items":
                args += [item.value for item in value.data[:64]]
            else:
                complete = False
        for keyword in node.keywords:
            value = self.evaluate(keyword.value, scope)
            if keyword.arg:
                kwargs[keyword.arg] = value
            elif value.kind == "mapping":
                kwargs |= {str(key): each for key, each in value.data.items()}
            else:
                complete = False
        return Call(args=tuple(args), kwargs=kwargs, complete=complete)

    def apply(self, target: Value, call: Call) -> Value:
        """The result of a call, with everything that happens in it."""
        match target.kind:
            case "function":
                return self.enter(target.data, call)
            case "class":
                return self.instantiate(target, call)
            case "library":
                return _library.called(self, target.name, call)
            case "method" if target.data.kind == "super":
                return self._super(target, call)
            case "method":
                return _library.method(self, target.data, target.name, call)
            case "object":
                member = self._member(target, "__call__")
                if member.kind == "function":
                    return self.enter(member.data, call)
        if target.kind in ("made", "model", "object"):
            self.emit("call", f"{target.name or 'tensorflow.keras.Model'}.__call__", call=call, receiver=target)
            return Value(kind="made", name="tensor", data=call) if _library.makes_tensors(target) else UNKNOWN
        self.emit("opaque", target.name, call=call, receiver=target)
        return Value(taint=max(Taint.UNKNOWN, taint_of(call.values())))

    def _super(self, target: Value, call: Call) -> Value:
        owner, home = target.data.data
        if owner is None or home is None or home.kind != "class":
            return UNKNOWN
        for base in home.data.bases:
            member = base.data.member(target.name) if base.kind == "class" else None
            if member and member.kind == "function":
                return self.enter(Function(node=member.data.node, scope=member.data.scope, owner=owner, home=member.data.home), call)
        return UNKNOWN

    def instantiate(self, target: Value, call: Call) -> Value:
        kind: Class = target.data
        bases = {_names.keras_name(_names.canonical(base)) for base in kind.library_bases()}
        thing = Object(kind=kind, model=Model(scoped=self.scoped) if bases & {"Model", "Sequential"} else None)
        value = Value(kind="object", data=thing, taint=Taint.SAME)
        if thing.model:
            self.emit("call", "tensorflow.keras.Model", call=call, result=value)
        init = kind.member("__init__")
        if init and init.kind == "function":
            self.enter(Function(node=init.data.node, scope=init.data.scope, owner=value, home=init.data.home), call)
        else:
            fields = [each.target.id for each in kind.node.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)]
            thing.attributes |= dict(zip(fields, call.args, strict=False)) | dict(call.kwargs)
        return value

    def assign(self, target: ast.expr, value: Value, scope: Scope) -> None:
        match target:
            case ast.Name():
                scope.bind(target.id, value)
            case ast.Tuple() | ast.List():
                for number, (element, part) in enumerate(zip(target.elts, parts(value, len(target.elts)), strict=True)):
                    starred = isinstance(element, ast.Starred)
                    rest = Value(kind="unknown", taint=value.taint)
                    self.assign(element.value if isinstance(element, ast.Starred) else element, rest if starred and number else part, scope)
            case ast.Attribute():
                _library.set_attribute(self, self.evaluate(target.value, scope), target.attr, value)
            case ast.Subscript():
                base, key = self.evaluate(target.value, scope), self.evaluate(target.slice, scope)
                self.line = target.lineno
                if base.kind == "library" and base.name == "os.environ":
                    _library.write_variable(self, key, value)
                elif base.kind == "mapping" and key.kind == "constant":
                    base.data[key.data] = value


def _children(node: ast.AST) -> list[ast.expr]:
    return [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
