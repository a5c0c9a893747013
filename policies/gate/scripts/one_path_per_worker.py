"""No two workers write one path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gate.model import Rule, Severity
from gate.scripts import _keras, _names, _trace
from gate.scripts._values import Branch, Event, Path, Taint, Value, apart

if TYPE_CHECKING:
    from gate.scripts import Finding, Script

RULE = Rule(
    id="script/one-path-per-worker",
    title="No two workers save to the same path",
    description="All workers must call save (it is collective), but on a volume that they share only one may own the path. TensorFlow's "
    "own formats tear each other's temporary files, mostly at the first save (`MergeV2Checkpoints`: `NotFoundError` or "
    "`allow_missing_files was set to false and …/variables_temp/part-00000-of-00001`); HDF5 is locked (`unable to lock file`); a .keras "
    "file is cut off and begun anew by each, so that a worker that saves late and is stopped takes the chief's finished model with it. "
    "BackupAndRestore of Keras 2 and tf_keras gives the others a folder of their own; so does their ModelCheckpoint, but not that of "
    "Keras 3, and a script had better not depend on which it meets: a warning. A path in /tmp is the pod's own. One "
    "scratch path for all but the chief does for two workers and no more: a warning, as a script alone does not say how many there are.",
    symptoms=("NotFoundError: variables_temp/part-00000-of-00001.index", "allow_missing_files was set to false"),
    severity="error",
    fix="Save on all workers: the chief (task 0) to the real path, the others to a scratch path with their task index, which they remove.",
    example='model.save("/runs/final")   # on every worker',
    references=(
        ("https://github.com/tensorflow/tensorflow/issues/38635", "torn files of a model that all workers save"),
        ("https://www.tensorflow.org/tutorials/distribute/multi_worker_with_keras#model_saving_and_loading", "a path for each worker"),
    ),
    seen=(
        "lab: tests/training/test_training.py::test_workers_that_save_to_one_path_tear_its_files",
        "lab: tests/training/test_training.py::test_a_worker_that_saves_late_takes_the_model_of_the_chief_with_it",
        "lab: tests/training/test_training.py::test_the_checkpoint_callback_of_keras_2_leaves_the_path_to_the_chief",
        "source: keras src/distribute/distributed_file_utils.py",
        "source: keras-3 src/callbacks/model_checkpoint.py",
    ),
)

_OWN_PLACES = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - named, not used
_LOGS = {"TensorBoard": (0, "log_dir"), "CSVLogger": (0, "filename")}
_MANAGER = "tensorflow.train.CheckpointManager"
_FUNCTIONS = {
    "tensorflow.saved_model.save": (1, "export_dir"),
    _MANAGER: (1, "directory"),
    "keras:models.save_model": (1, "filepath"),
    "keras:saving.save_model": (1, "filepath"),
}


def faults(script: Script) -> Iterator[Finding]:
    events = _trace.of_several(script)
    seen = set()
    for event, what, target, path, severity in _written(events):
        message = ""
        if all(_is_shared(option) for option in target.options()) and target.taint is Taint.SAME:
            if not any(_decides(branch) for branch in path):
                message = f"{what} is given one path on all workers: they write the same files"
            elif any(_same_elsewhere(event, target, path, other) for other in _written(events)):
                message = f"{what} is given the same path in both arms of a decision between workers: they write the same files"
        if not message and severity is None and _by_kind(events, event, target, path):
            message = f"{what} is given one path for each kind of worker: where there are more than two workers, some write the same files"
            severity = "warning"
        if message and (event.line, message) not in seen:
            seen.add((event.line, message))
            yield event.line, message, severity


def _by_kind(events: Sequence[Event], event: Event, target: Value, path: Path) -> bool:
    """Whether a path is one of a few, by what splits the workers into the chief and the others."""
    if not all(_is_shared(option) for option in target.options()):
        return False
    if not any(_decides(branch) for branch in path):
        return target.taint is Taint.GROUPS
    mine = next((branch for branch in path if _decides(branch)), None)
    if mine is None or mine.arm == 0 or mine.test.taint is not Taint.GROUPS or target.taint is not Taint.SAME:
        return False
    others = [other for other in _written(events) if other[0] is not event and any(apart(mine, each) for each in other[3])]
    return bool(others) and all(other[2].taint is Taint.SAME and all(map(_is_shared, other[2].options())) for other in others)


def _decides(branch: Branch) -> bool:
    """Whether a decision may let some workers write and not others. One that only ever ends the function early does not."""
    return branch.test.rank or (branch.test.taint is not Taint.SAME and not branch.lasts)


def _written(events: Sequence[Event]) -> Iterator[tuple[Event, str, Value, Path, Severity | None]]:
    """Every path that is written in a way that all workers take part in."""
    for event in events:
        if event.kind == "method" and _saves(event):
            target = event.call.get(0, "filepath", "file_prefix", "path")
            if target and not event.receiver.is_made(_MANAGER):
                yield event, f"{event.name}()", target, event.path, None
        if event.kind == "call":
            keras = _names.keras_name(event.name)
            position = _FUNCTIONS.get(f"keras:{keras}" if keras else event.name)
            target = event.call.get(*position) if position else None
            if target and (not event.result.is_made(_MANAGER) or _is_saved(events, event.result)):
                short = f"{keras or _names.short(event.name)}()"
                yield event, short.removeprefix("models."), target, event.path, None
        if event.kind == "method" and event.name == "fit" and _keras.is_distributed(event):
            yield from _by_callbacks(events, event)


def _by_callbacks(events: Sequence[Event], fit: Event) -> Iterator[tuple[Event, str, Value, Path, Severity | None]]:
    for value, path in _keras.callbacks(fit.call):
        name = _keras.callback_name(value)
        made = next((event for event in events if event.result is value), fit)
        if name == "ModelCheckpoint" and (target := value.data.get(0, "filepath")):
            yield made, name, target, (*fit.path, *path, *made.path), "warning"  # only Keras 3's
        elif name in _LOGS and (target := value.data.get(*_LOGS[name])):
            yield made, name, target, (*fit.path, *path, *made.path), "warning"


def _saves(event: Event) -> bool:
    if event.name == "write":
        return event.receiver.is_made("tensorflow.train.Checkpoint")
    if _keras.is_model(event.receiver) and _keras.scoped(event.receiver) is False:
        return False  # what one process does for itself, an export, say; where all train so, script/model-in-scope speaks
    known = _keras.is_model(event.receiver) or event.receiver.is_made("tensorflow.train.Checkpoint", _MANAGER)
    return known and event.name in ("save", "save_weights", "export")


def _is_saved(events: Sequence[Event], manager: Value) -> bool:
    """Whether a manager may write: one that only finds what an earlier run has written does not."""
    for event in events:
        if event.kind == "method" and event.name == "save":
            options = list(event.receiver.options())
            if manager in options or (not event.call.values() and any(option.kind in ("unknown", "method") for option in options)):
                return True
        if event.kind in ("call", "opaque") and any(manager in value.options() for value in event.call.values()):
            return True
    return False


def _is_shared(target: Value) -> bool:
    """Whether a path may be on a volume that pods share: not known to be the pod's own."""
    return target.kind in ("constant", "environ", "made", "unknown") and not (target.text or "").startswith(_OWN_PLACES)


def _same_elsewhere(event: Event, target: Value, path: Path, other: tuple[Event, str, Value, Path, Severity | None]) -> bool:
    """Whether the workers on the other arm of a decision by rank write the very same path."""
    elsewhere, _, theirs, taken, _ = other
    if elsewhere is event or not any(mine.test.rank and apart(mine, each) for mine in path for each in taken):
        return False
    return theirs is target or (target.kind == theirs.kind == "constant" and target.data == theirs.data)
