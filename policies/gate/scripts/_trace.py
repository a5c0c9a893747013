"""What a script does, in the order in which it runs: an abstract run of its module, as `python script.py` does it.

Functions are followed where they are called, both arms of a decision are taken, loops run once. Functions that nothing
calls are run at the end, each by itself. The rules judge the events of this run, so that one shape of a fault is seen
whether it stands at the module's level, in main(), in a method or behind an alias.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gate.model import GateError
from gate.scripts import _library, _names
from gate.scripts._evaluate import Evaluator, OutOfSteps
from gate.scripts._initialises import initialises
from gate.scripts._values import (
    RANK,
    SAME,
    UNKNOWN,
    Branch,
    Call,
    Class,
    Event,
    Function,
    Item,
    Object,
    Scope,
    Taint,
    Value,
    as_test,
    choice,
    constant,
    element_of,
    extended,
    is_of_workers,
    renewed,
    taint_of,
    truth,
)

if TYPE_CHECKING:
    from gate.scripts import Script

_DEPTH = 24
_Definition = ast.FunctionDef | ast.AsyncFunctionDef
_LASTING = ("", "loop", "function", "program", "failure")


@functools.lru_cache(maxsize=4)
def events(script: Script) -> tuple[Event, ...]:
    """The events of a script that uses MultiWorkerMirroredStrategy; none for any other script."""
    if not any(name in script.text for name in ("MultiWorkerMirrored", "CollectiveAllReduceStrategy")):
        return ()
    tracer = Tracer(script.modules)
    try:
        tracer.run(script.tree)
    except OutOfSteps:
        pass
    except RecursionError as error:
        raise GateError("is nested too deeply to be followed", file=script.file) from error
    strategies = [event for event in tracer.events if is_strategy(event) and not event.alone]
    if not strategies:
        return ()
    return tuple(event if any(map(event.possible_at, strategies)) else dataclasses.replace(event, alone=True) for event in tracer.events)


@functools.lru_cache(maxsize=4)
def of_several(script: Script) -> tuple[Event, ...]:
    """The events without those of a worker that is alone."""
    return tuple(event for event in events(script) if not event.alone)


def is_strategy(event: Event) -> bool:
    return event.kind == "call" and event.name == _names.STRATEGY


def in_try(script: Script, line: int) -> bool:
    """Whether a line stands in a block whose failure is caught."""
    return any(
        isinstance(node, ast.Try) and node.handlers and node.body[0].lineno <= line <= (node.body[-1].end_lineno or line)
        for node in ast.walk(script.tree)
    )


class Tracer(Evaluator):
    def __init__(self, modules: Mapping[str, ast.Module]) -> None:
        super().__init__()
        self.modules = dict(modules)  # those beside the script that are not yet imported
        self.active: list[tuple[int, int]] = []
        self.caught = 0  # the blocks with an `except` that are entered
        self.reached: set[ast.AST] = set()
        self.defined: dict[ast.AST, Function] = {}

    def run(self, tree: ast.Module) -> None:
        self.block(tree.body, Scope())
        called = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        called |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        # Those that no other function mentions come first: they are entered from elsewhere and call the others.
        for mentioned in (False, True):
            while waiting := [f for f in self.defined.values() if f.node not in self.reached and self._mentioned(f, called) <= mentioned]:
                for function in waiting:
                    self._run_alone(function)

    def _mentioned(self, function: Function, called: set[str]) -> bool:
        return isinstance(function.node, _Definition) and function.node.name in called

    def _run_alone(self, function: Function) -> None:
        self.reached.add(function.node)
        self.path = (Branch(node=id(function.node), arm=0, root=True),)
        self.scopes, self.ended = [], False
        if function.home and not function.owner:
            owner = Value(kind="object", data=Object(kind=function.home), taint=Taint.SAME)
            function = Function(node=function.node, scope=function.scope, owner=owner, home=function.home)
        self.enter(function, Call(complete=False))

    # Functions

    def enter(self, function: Function, call: Call) -> Value:
        node = function.node
        entry = (id(node), id(function.scope))  # of a decorator, each wrapper is another
        if entry in self.active or len(self.active) >= _DEPTH:
            return UNKNOWN
        self.reached.add(node)
        if node in self.compiled and call.complete:
            self.emit("call", "tensorflow.function.__call__", call=call)
        scope = Scope(parent=function.scope)
        self._bind(function, call, scope)
        path, line, returned = self.path, self.line, self.returned
        self.returned = []
        self.active.append(entry)
        try:
            if isinstance(node, ast.Lambda):
                return self.evaluate(node.body, scope)
            flow = self.block(node.body, scope)
            results, inside = self.returned, self.path
        finally:
            self.active.pop()
            self.path, self.line, self.returned = path, line, returned
        self.path = path + tuple(branch for branch in inside[len(path) :] if branch.lasts == "program")
        self.ended = flow == "program"
        if any(isinstance(each, ast.Yield | ast.YieldFrom) for each in _own_nodes(node)):
            return Value(kind="made", name="generator", data=call)
        tests = [branch.test for _, taken in results for branch in taken[len(path) :]]
        decided = Value(taint=taint_of(tests), rank=any(test.rank for test in tests))
        return choice([value for value, _ in results], test=decided) if results else Value(kind="constant", taint=Taint.SAME)

    def _bind(self, function: Function, call: Call, scope: Scope) -> None:
        arguments = function.node.args
        given = [*function.bound, *call.args]
        if function.owner and not isinstance(function.node, ast.Lambda):
            given.insert(0, function.owner)
            scope.names["__owner__"] = function.owner
        if function.home:
            scope.names["__home__"] = Value(kind="class", data=function.home)
        keywords = {**function.keywords, **call.kwargs}
        defaults = self.defaults.get(function.node, {})
        names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
        scope.names |= dict(zip(names, given, strict=False))
        for name in [*names[len(given) :], *(argument.arg for argument in arguments.kwonlyargs)]:
            default = defaults.get(name)
            if name in keywords:
                scope.names[name] = keywords.pop(name)
            elif default and call.complete:
                scope.names[name] = default
            else:
                scope.names[name] = RANK if _names.says_rank(name) else UNKNOWN
        if arguments.vararg:
            items = [Item(value=value, path=()) for value in given[len(names) :]]
            scope.names[arguments.vararg.arg] = Value(kind="items", data=items, taint=taint_of(given)) if call.complete else UNKNOWN
        if arguments.kwarg:
            scope.names[arguments.kwarg.arg] = Value(kind="mapping", data=keywords, taint=Taint.SAME) if call.complete else UNKNOWN

    # Statements: each says whether it ends the loop, the function or the program that it stands in

    def block(self, statements: Sequence[ast.stmt], scope: Scope) -> str:
        for statement in statements:
            self.step()
            self.line = statement.lineno
            handler = getattr(self, f"_do_{type(statement).__name__.lower()}", None)
            flow: str = handler(statement, scope) if handler else self._each(statement, scope)
            if self.ended:
                self.ended = False
                return "program"
            if flow:
                return flow
        return ""

    def _each(self, statement: ast.stmt, scope: Scope) -> str:
        for child in ast.iter_child_nodes(statement):
            if isinstance(child, ast.expr):
                self.evaluate(child, scope)
        return ""

    def _do_delete(self, node: ast.Delete, scope: Scope) -> str:
        return ""

    def _do_assign(self, node: ast.Assign, scope: Scope) -> str:
        value = self.evaluate(node.value, scope)
        for target in node.targets:
            self.assign(target, value, scope)
        return ""

    def _do_annassign(self, node: ast.AnnAssign, scope: Scope) -> str:
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value, scope), scope)
        return ""

    def _do_augassign(self, node: ast.AugAssign, scope: Scope) -> str:
        before, value = self.evaluate(node.target, scope), self.evaluate(node.value, scope)
        if before.kind == "library" and before.name == "os.environ":
            _library.update_variables(self, Call(args=(value,)))
        elif before.kind == "items" and value.kind == "items":
            before.data[:] = extended(before.data, [Item(value=item.value, path=self.path) for item in value.data])
        else:
            rank = before.rank or value.rank
            self.assign(node.target, Value(taint=taint_of((before, value)), rank=rank, text=before.text), scope)
        return ""

    def _do_return(self, node: ast.Return, scope: Scope) -> str:
        self.returned.append((self.evaluate(node.value, scope) if node.value else Value(kind="constant", taint=Taint.SAME), self.path))
        return "function"

    def _do_raise(self, node: ast.Raise, scope: Scope) -> str:
        self._each(node, scope)
        leaves = any(isinstance(each, ast.Name) and each.id == "SystemExit" for each in ast.walk(node))
        return "function" if self.caught or leaves else "failure"

    def _do_assert(self, node: ast.Assert, scope: Scope) -> str:
        test = self.evaluate(node.test, scope)
        if self.caught and as_test(test).rank:  # elsewhere it ends the worker, which no script wants of all but one
            self.path += (self.branch(node, 0, test, node.test, "try"),)
        return ""

    def _do_break(self, node: ast.Break, scope: Scope) -> str:
        return "loop"

    _do_continue = _do_break

    def _do_global(self, node: ast.Global | ast.Nonlocal, scope: Scope) -> str:
        scope.shared |= set(node.names)
        return ""

    _do_nonlocal = _do_global

    def _do_import(self, node: ast.Import, scope: Scope) -> str:
        for alias in node.names:
            self._load(alias.name)
            self.emit("import", alias.name)
            name = alias.name if alias.asname else alias.name.partition(".")[0]
            scope.bind(alias.asname or name, _library.thing(name))
        return ""

    def _load(self, name: str) -> None:
        """Runs a module beside the script as its import does, for the operation that it runs first before any strategy."""
        tree = self.modules.pop(name, None)
        if tree is None:
            return
        inner = Tracer(self.modules)
        with contextlib.suppress(OutOfSteps):
            inner.block(tree.body, Scope(names={"__name__": constant(name)}))
        self.modules = inner.modules
        for event in itertools.takewhile(lambda each: not is_strategy(each), inner.events):
            if not event.path and initialises(event):
                origin = event.origin or f"{name}.py:{event.line}"
                self.events.append(dataclasses.replace(event, line=self.line, path=self.path, origin=origin))
                return

    def _do_importfrom(self, node: ast.ImportFrom, scope: Scope) -> str:
        module = "." * node.level + (node.module or "")
        self._load(module)
        for alias in node.names:
            name = f"{module}.{alias.name}"
            self.emit("import", name)
            if alias.name != "*":
                scope.bind(alias.asname or alias.name, _library.thing(name))
        return ""

    def _do_functiondef(self, node: _Definition, scope: Scope) -> str:
        decorators = [self.evaluate(decorator, scope) for decorator in node.decorator_list]
        made_by = [self.evaluate(each.func, scope) if isinstance(each, ast.Call) else UNKNOWN for each in node.decorator_list]
        if any(value.kind == "library" and value.name == "tensorflow.function" for value in (*decorators, *made_by)):
            self.compiled.add(node)
        self.remember_defaults(node, scope)
        function = Function(node=node, scope=scope)
        self.defined[node] = function
        value = Value(kind="function", data=function, taint=Taint.SAME)
        if all(decorator.kind == "function" for decorator in decorators):  # the script's own, which may decide who enters
            for decorator in reversed(decorators):
                wrapped = self.enter(decorator.data, Call(args=(value,)))
                value = wrapped if wrapped.kind == "function" else value
        scope.bind(node.name, value)
        return ""

    _do_asyncfunctiondef = _do_functiondef

    def _do_classdef(self, node: ast.ClassDef, scope: Scope) -> str:
        for decorator in node.decorator_list:
            self.evaluate(decorator, scope)
        bases = tuple(self.evaluate(base, scope) for base in node.bases)
        inner = Scope(parent=scope)
        self.block(node.body, inner)
        kind = Class(node=node, bases=bases, members=inner.names)
        for name, member in inner.names.items():
            if member.kind == "function" and member.data.node in node.body:
                # A method sees the names around its class, not those in it.
                method = Function(node=member.data.node, scope=scope, home=kind)
                self.defined[member.data.node] = method
                inner.names[name] = renewed(member, data=method)
        scope.bind(node.name, Value(kind="class", data=kind, taint=Taint.SAME))
        return ""

    # Decisions and loops

    def _do_if(self, node: ast.If, scope: Scope) -> str:
        test = self.evaluate(node.test, scope)
        known = truth(test)
        if is_of_workers(test):
            self.aside(lambda other: self.block(node.orelse if known else node.body, other), scope)
        if known is not None:
            return self.block(node.body if known else node.orelse, scope)
        return self._arms(node, [node.body, node.orelse], test, node.test, scope)

    def _arms(self, node: ast.AST, arms: Sequence[Sequence[ast.stmt]], test: Value, source: ast.expr, scope: Scope) -> str:
        """Takes every arm from the same start, then knows what all of them leave behind."""
        start = dict(scope.names)
        ends: list[dict[str, Value]] = []
        flows = []
        for arm, statements in enumerate(arms):
            scope.names.clear()
            scope.names.update(start)
            with self.under(self.branch(node, arm, test, source, one_of_several=isinstance(node, ast.Match))):
                flows.append(self.block(statements, scope))
            ends.append(dict(scope.names))
        going = [arm for arm, flow in enumerate(flows) if not flow]
        tested = as_test(test)
        scope.names.clear()
        scope.names.update(merged([ends[arm] for arm in going] or ends, tested))
        if not going:
            return min(flows, key=_LASTING.index)
        if len(going) == 1 and len(arms) > 1:
            lasts = min((flow for flow in flows if flow), key=_LASTING.index)
            if lasts == "failure":
                return ""  # who comes this far is not decided by it: a worker that fails ends the run
            self.path += (self.branch(node, going[0], test, source, lasts, one_of_several=isinstance(node, ast.Match)),)
        return ""

    def _do_match(self, node: ast.Match, scope: Scope) -> str:
        subject = self.evaluate(node.subject, scope)
        for case in node.cases:
            for pattern in ast.walk(case.pattern):
                name = getattr(pattern, "name", None) or getattr(pattern, "rest", None)
                if isinstance(name, str):
                    scope.bind(name, Value(taint=subject.taint, rank=subject.rank))
        whole = any(isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and case.guard is None for case in node.cases)
        arms = [case.body for case in node.cases] + ([] if whole else [[]])
        return self._arms(node, arms, subject, node.subject, scope)

    def _do_for(self, node: ast.For | ast.AsyncFor, scope: Scope) -> str:
        source = self.evaluate(node.iter, scope)
        self.line = node.lineno
        self.assign(node.target, element_of(source), scope)
        return self._loop(node, scope)

    _do_asyncfor = _do_for

    def _do_while(self, node: ast.While, scope: Scope) -> str:
        if truth(self.evaluate(node.test, scope)) is False:
            return self.block(node.orelse, scope)
        return self._loop(node, scope)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, scope: Scope) -> str:
        before = dict(scope.names)
        path = self.path
        flow = self.block(node.body, scope)
        self.path = path + tuple(branch for branch in self.path[len(path) :] if branch.lasts in ("try", "function", "program"))
        after = dict(scope.names)
        scope.names.update(merged([before, after], SAME))
        self.block(node.orelse, scope)
        endless = isinstance(node, ast.While) and isinstance(node.test, ast.Constant)
        return flow if endless and flow in ("function", "program", "failure") else ""

    def _do_with(self, node: ast.With | ast.AsyncWith, scope: Scope) -> str:
        entered = len(self.scopes)
        for item in node.items:
            value = self.evaluate(item.context_expr, scope)
            self.scopes.append(_library.scope_of(value))
            if item.optional_vars is not None:
                self.assign(item.optional_vars, value, scope)
        flow = self.block(node.body, scope)
        del self.scopes[entered : entered + len(node.items)]
        return flow

    _do_asyncwith = _do_with

    def _do_try(self, node: ast.Try | ast.TryStar, scope: Scope) -> str:
        before = dict(scope.names)
        outside = self.path
        self.caught += bool(node.handlers)
        flow = self.block(node.body, scope)
        self.caught -= bool(node.handlers)
        flow = flow or self.block(node.orelse, scope)
        if node.handlers:
            self.path = outside + tuple(branch for branch in self.path[len(outside) :] if branch.lasts != "try")
        ends = [dict(scope.names)]
        flows = [flow]
        for arm, handler in enumerate(node.handlers):
            scope.names.clear()
            scope.names.update(merged([before, ends[0]], SAME))
            if handler.name:
                scope.bind(handler.name, UNKNOWN)
            with self.under(Branch(node=id(node), arm=arm + 1, source="except")):
                flows.append(self.block(handler.body, scope))
            ends.append(dict(scope.names))
        going = [end for end, each in zip(ends, flows, strict=True) if not each]
        scope.names.clear()
        scope.names.update(merged(going or ends, SAME))
        return self.block(node.finalbody, scope) or ("" if going else min(flows, key=_LASTING.index))

    _do_trystar = _do_try


def merged(ends: Sequence[dict[str, Value]], test: Value) -> dict[str, Value]:
    """The names after a decision: what each arm leaves, the same in all or one of several."""
    names = dict.fromkeys(name for end in ends for name in end)
    return {name: choice([end[name] for end in ends if name in end], test=test) for name in names}


def _own_nodes(node: ast.AST) -> list[ast.AST]:
    """The nodes of a function without those of the functions in it."""
    found: list[ast.AST] = []
    waiting = list(ast.iter_child_nodes(node))
    while waiting:
        each = waiting.pop()
        found.append(each)
        if not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(each)
    return found
