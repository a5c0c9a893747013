"""What all workers do together, no worker does alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gate.model import Rule, Severity
from gate.scripts import _keras, _names, _trace
from gate.scripts._values import Branch, Event, Path, Value, apart, is_constant

if TYPE_CHECKING:
    from gate.scripts import Finding, Script

RULE = Rule(
    id="script/chief-only-collective",
    title="All workers take part in fit, evaluate, predict and in saving a model",
    description="These read or reduce variables that the workers hold together: metrics, batch norm's statistics, gradients. A worker "
    "that calls them alone waits for the others for ever, or the next collective of the others meets it and aborts with `Shape mismatch "
    "in the collective instance` (measured for evaluate, save and ModelCheckpoint on TensorFlow 2.15.1). Saving on the chief only is "
    "the usual form of it. A worker that is given other epochs or steps than the others, or that validates alone, ends up there, too.",
    symptoms=("a heartbeat time-out in evaluate", "a silent hang in save"),
    severity="error",
    fix="Call it on all workers; where only one may keep the files, give the others a scratch path of their own.",
    example='if task_index == 0:\n    model.save("/runs/final")   # the others never enter',
    references=(
        ("https://www.tensorflow.org/tutorials/distribute/multi_worker_with_keras#model_saving_and_loading", "saving on all workers"),
        ("https://github.com/tensorflow/tensorflow/issues/40374", "saving under MultiWorkerMirroredStrategy"),
    ),
    seen=(
        "lab: tests/training/test_training.py::test_a_worker_that_evaluates_alone_meets_the_others_in_another_step",
        "lab: tests/training/test_training.py::test_workers_whose_data_end_at_different_steps_abort",
    ),
)

_SAVES = ("save", "save_weights", "export", "write")
_COUNTS = {  # by their positions
    "fit": {"epochs": 3, "initial_epoch": 11, "steps_per_epoch": 12, "validation_steps": 13, "validation_freq": 15},
    "evaluate": {"steps": 5},
    "predict": {"steps": 3},
}
_SAVE_FUNCTIONS = ("tensorflow.saved_model.save",)


def faults(script: Script) -> Iterator[Finding]:
    events = _trace.of_several(script)
    seen = set()
    for event in events:
        found = [(kind, "", event.path) for kind in [_collective(event)] if kind]
        if event.kind == "method" and event.name == "fit" and _keras.is_distributed(event):
            found += [
                ("callback", _keras.callback_name(each), path)
                for each, path in _keras.callbacks(event.call)
                if _keras.callback_name(each) in ("ModelCheckpoint", "BackupAndRestore")
            ]
        for kind, name, path in found:
            branch = next((branch for branch in path if branch.test.rank and not _matched(events, event, kind, name, branch, path)), None)
            what = f"the callback {name}" if name else f"{_written(event)}()"
            if branch and (event.line, what) not in seen:
                seen.add((event.line, what))
                yield (
                    event.line,
                    f"{what} is for some workers only ({_condition(branch)}): it is collective, the others are waited for",
                    None,
                )
        for name, severity in _own_arguments(event):
            if (event.line, name) not in seen:
                seen.add((event.line, name))
                yield event.line, f"{name} depends on the worker: {event.name}() is collective, the others are waited for", severity


def _own_arguments(event: Event) -> Iterator[tuple[str, Severity | None]]:
    """The arguments that make workers take part in another number of steps."""
    if event.kind != "method" or event.name not in _COUNTS or not _keras.is_distributed(event):
        return
    data = event.call.get(7, "validation_data") if event.name == "fit" else None
    options = [] if data is None else list(data.options())
    own = any(option.rank for option in options)  # what is read, and not whether
    if data is not None and data.rank and not own and any(is_constant(option, None) for option in options):
        yield "validation_data", None
        return
    for name, position in _COUNTS[event.name].items():
        value = event.call.get(position, name)
        if value is not None and value.rank:
            constants = {repr(option.data) for option in value.options() if option.kind == "constant"}
            yield name, None if value.kind != "choice" or len(constants) > 1 else "warning"


def _collective(event: Event) -> str:
    """What a call is of that all workers must make, "" for anything else."""
    if event.kind == "call":
        keras = _names.keras_name(event.name)
        saves = keras in ("models.save_model", "saving.save_model") or event.name in _SAVE_FUNCTIONS
        first = event.call.get(0, "model", "obj")
        return "save" if saves and first is not None and _shared(first) else ""
    if event.kind != "method":
        return ""
    if event.name in ("fit", "evaluate", "predict") and _keras.is_distributed(event):
        return event.name
    if event.name in _SAVES and _shared(event.receiver):
        return "save"
    if event.receiver.kind == "strategy" and event.receiver.name == _names.STRATEGY and event.name in ("run", "reduce", "gather"):
        return event.name
    return ""


def _shared(value: Value) -> bool:
    """A model of the strategy's, or a checkpoint of one."""
    if _keras.is_model(value):
        return _keras.scoped(value) is not False
    if value.is_made("tensorflow.train.Checkpoint"):
        return any(_keras.is_model(each) and _keras.scoped(each) is not False for each in value.data.values())
    if value.is_made("tensorflow.train.CheckpointManager"):
        first = value.data.get(0, "checkpoint")
        return first is not None and _shared(first)
    return False


def _matched(events: Sequence[Event], event: Event, kind: str, name: str, branch: Branch, path: Path) -> bool:
    """Whether the workers that do not come here do the same elsewhere, or something that cannot be followed."""
    for other in events:
        if other is event and kind != "callback":
            continue
        if kind == "callback":
            given = [taken for each, taken in _keras.callbacks(event.call) if _keras.callback_name(each) == name]
            if any(any(apart(branch, taken) for taken in each) for each in given):
                return True
        if kind == "callback" and other.kind == "method" and other.name == "fit" and any(apart(branch, each) for each in other.path):
            return True
        if _collective(other) == kind and _elsewhere(branch, other, path):
            return True
        opaque = other.kind == "opaque" and any(_keras.is_model(value) for value in other.call.values())
        if opaque and any(apart(branch, each) for each in other.path):
            return True
    return False


def _elsewhere(branch: Branch, other: Event, path: Path) -> bool:
    """On the other arm of the decision, or under another decision by rank, which may be its complement."""
    if any(apart(branch, each) for each in other.path):
        return True
    return any(each.test.rank and each.source != branch.source and each.node != branch.node for each in other.path) and other.path != path


def _written(event: Event) -> str:
    return event.name if event.kind == "method" else _names.short(event.name)


def _condition(branch: Branch) -> str:
    source = branch.source if len(branch.source) <= 50 else f"{branch.source[:47]}..."
    return f"if {source}" if branch.arm == 0 else f"not if {source}"
