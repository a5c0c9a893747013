"""A worker that has lost a peer ends."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gate.model import Rule
from gate.scripts import _keras, _names, _trace
from gate.scripts._values import Event

if TYPE_CHECKING:
    from gate.scripts import Finding, Script

RULE = Rule(
    id="script/no-endless-retry",
    title="A worker that has lost a peer ends, and does not begin again by itself",
    description="Once a collective was aborted, every further one of the process is aborted as well: a loop that catches the error and "
    "calls fit() again never trains and never ends, so that nobody restarts the gang, and its GPUs are held (measured on TensorFlow 2.15.1 "
    "and 2.21.0). JobSet recreates all workers when one ends with an error.",
    symptoms=("UnavailableError: Collective ops is aborted by, again and again", "a gang that neither trains nor restarts"),
    severity="error",
    fix="Let the error end the process (or leave by sys.exit with a status that is not 0), and let failurePolicy.maxRestarts restart all "
    "workers; BackupAndRestore takes the training up again.",
    example="while True:\n    try:\n        model.fit(data, steps_per_epoch=100)\n        break\n"
    "    except tf.errors.UnavailableError:\n        continue",
    references=(("https://github.com/tensorflow/tensorflow/issues/42498", "a peer that is gone"),),
    seen=("lab: tests/training/test_training.py::test_a_worker_that_has_lost_a_peer_cannot_go_on_by_itself",),
)

_CAUGHT = {"UnavailableError", "AbortedError", "InternalError", "OpError", "Exception", "BaseException"}
# Calls that surely come back; a function of anything else may end the process.
_COMES_BACK = ("print", "str", "repr", "type", "time", "logging", "log", "logger", "traceback", "warnings", "gc", "tf", "tensorflow")


def faults(script: Script) -> Iterator[Finding]:
    lines = {event.line for event in _trace.of_several(script) if _trains(event)}
    if not lines:
        return
    functions = {node.name: node for node in ast.walk(script.tree) if isinstance(node, ast.FunctionDef)}
    for loop in ast.walk(script.tree):
        if not isinstance(loop, ast.While) or not isinstance(loop.test, ast.Constant) or not loop.test.value:
            continue
        for block in loop.body:
            if not isinstance(block, ast.Try) or not _reaches(block.body, lines, functions, set()):
                continue
            others = [each for each in loop.body if each is not block]
            caught = [handler for handler in block.handlers if _catches(handler)]
            if caught and not any(_leaves(each) for each in (*others, *caught, *block.finalbody)):
                yield (
                    caught[0].lineno,
                    "a worker that has lost a peer begins again here: every further attempt of the process fails, and it never ends",
                    None,
                )


def _trains(event: Event) -> bool:
    if event.kind != "method":
        return False
    runs = event.name == "run" and event.receiver.kind == "strategy" and event.receiver.name == _names.STRATEGY
    return runs or (event.name == "fit" and _keras.is_distributed(event))


def _reaches(statements: list[ast.stmt], lines: set[int], functions: dict[str, ast.FunctionDef], seen: set[str]) -> bool:
    """Whether statements train, themselves or by functions of the script that they call."""
    for statement in statements:
        if any(statement.lineno <= line <= (statement.end_lineno or line) for line in lines):
            return True
        for call in (node for node in ast.walk(statement) if isinstance(node, ast.Call)):
            name = call.func.id if isinstance(call.func, ast.Name) else call.func.attr if isinstance(call.func, ast.Attribute) else ""
            if name in functions and name not in seen and _reaches(functions[name].body, lines, functions, seen | {name}):
                return True
    return False


def _catches(handler: ast.ExceptHandler) -> bool:
    """Whether a handler catches what TensorFlow raises when a peer is gone."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = [ast.unparse(kind).rpartition(".")[2] if kind else "BaseException" for kind in kinds]
    return not _CAUGHT.isdisjoint(names)


def _leaves(node: ast.AST) -> bool:
    """Whether anything in a node may end the loop or the process."""
    for each in ast.walk(node):
        if isinstance(each, ast.Break | ast.Return | ast.Raise):
            return True
        if isinstance(each, ast.Call) and ast.unparse(each.func).partition(".")[0] not in _COMES_BACK:
            return True
    return False
