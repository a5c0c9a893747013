"""Workers that nothing tells of one another train alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gate.model import Rule
from gate.scripts import _library, _trace

if TYPE_CHECKING:
    from gate.scripts import Finding, Script

RULE = Rule(
    id="script/told-its-cluster",
    title="A script that several workers start is told its cluster",
    description="MultiWorkerMirroredStrategy reads its cluster from TF_CONFIG. Where neither tfrun, the environment nor the script sets "
    "it, each worker takes itself for the only one: all train the same model side by side, and nothing fails. Judged where the script is "
    "in a ConfigMap and the container's command starts it, and only where it surely sets no TF_CONFIG itself.",
    symptoms=("every worker trains alone", "Single-worker MultiWorkerMirroredStrategy with local_devices"),
    severity="error",
    fix="Start the script by tfrun: `command: [python3, /opt/tfrun/tfrun.py, python3, …]`.",
    example="strategy = tf.distribute.MultiWorkerMirroredStrategy()   # started by `python3 train.py` in three pods",
    references=(("https://www.tensorflow.org/guide/distributed_training#setting_up_the_tf_config_environment_variable", "TF_CONFIG"),),
    seen=(
        "lab: tests/training/test_training.py::test_workers_that_nothing_tells_of_one_another_train_alone",
        "source: tensorflow python/distribute/collective_all_reduce_strategy.py",
        "source: tensorflow python/distribute/cluster_resolver/tfconfig_cluster_resolver.py",
        "source: trainer pkg/runtime/framework/plugins/plainml/plainml.go",
    ),
)

# What a script names that brings a cluster of its own, or that trains alone on purpose.
_OTHERWISE = re.compile(r"TF_CONFIG|cluster_?resolver|tfrun|JOB_COMPLETION_INDEX", re.IGNORECASE)
_RUN_OTHERS = ("importlib", "runpy", "subprocess", "multiprocessing", "ctypes", "pickle")
_RUN_TEXT = ("exec", "eval", "compile", "__import__")
_BY_NAME = ("get", "setdefault", "pop")  # of os.environ, where the name is a literal


def faults(script: Script) -> Iterator[Finding]:
    if not script.alone or _OTHERWISE.search(script.text) or not _all_in_sight(script.tree):
        return
    made = [event for event in _trace.of_several(script) if _trace.is_strategy(event)]
    if made and not made[0].path:
        yield made[0].line, f"{script.alone} workers start the script and nothing tells them TF_CONFIG: each trains alone", None


def _all_in_sight(tree: ast.Module) -> bool:
    """Whether everything that the script does to its environment stands in it, under its name."""
    plain: set[ast.AST] = set()  # places of os.environ where the variable is known
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(slice=ast.Constant(value=str())) | ast.Attribute(attr="get"):
                plain.add(node.value)
            case ast.Call(func=ast.Attribute() as function, args=[ast.Constant(), *_]) if function.attr in _BY_NAME:
                plain.add(function.value)
            case ast.Compare(comparators=[other]):
                plain.add(other)
    return not any(_hides(node, plain) for node in ast.walk(tree))


def _hides(node: ast.AST, plain: set[ast.AST]) -> bool:
    match node:
        case ast.Import():
            return any(_unknown(alias.name) for alias in node.names)
        case ast.ImportFrom():
            return bool(node.level) or _unknown(node.module or "") or any(alias.name in ("environ", "putenv", "*") for alias in node.names)
        case ast.Attribute(attr="environ"):
            return node not in plain
        case ast.Attribute(value=ast.Name(id="os"), attr=name):
            return name.startswith(("exec", "spawn", "posix_spawn", "fork", "putenv", "environb", "system", "popen"))
        case ast.Name():
            return node.id in _RUN_TEXT
    return False


def _unknown(module: str) -> bool:
    root = module.partition(".")[0]
    return root in _RUN_OTHERS or root not in _library.KNOWN
