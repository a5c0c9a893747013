"""A number of steps for every loop over data that several workers share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gate.model import Rule, Severity
from gate.scripts import _keras, _trace
from gate.scripts._values import QUOTIENT, UNKNOWN, Call, Dataset, Event, Value, is_constant, number

if TYPE_CHECKING:
    from gate.scripts import Finding, Script

RULE = Rule(
    id="script/explicit-steps",
    title="fit() under MultiWorkerMirroredStrategy has steps_per_epoch, and validation_steps for its validation_data",
    description="Each worker iterates over its own shard. Shards of unequal length end at different steps: one worker runs out of data "
    "and leaves the all-reduce, and the others meet it in another one (`Collective ops is aborted by`, measured on TensorFlow 2.15.1 and "
    "2.21.0), run out of data as well (`Out of range: End of sequence`) or wait for it, depending on the version of TensorFlow and on how "
    "the data are sharded. A data set with repeat() but without a number of steps is refused by Keras. With one, Keras goes on "
    "where the last epoch ended, and begins a data set again only where its cardinality is exactly that number: without repeat(), a later "
    "epoch runs out, and the training ends there as if it were complete (`Your input ran out of data; interrupting training`).",
    symptoms=(
        "Out of range: End of sequence",
        "Your input ran out of data",
        "Collective ops is aborted by: Collective instance … expected type",
    ),
    severity="error",
    fix="Write dataset.repeat() with steps_per_epoch = samples // global_batch, and validation_steps beside validation_data.",
    example="model.fit(train.batch(64), epochs=3, validation_data=held)   # neither steps_per_epoch nor validation_steps",
    references=(
        ("https://github.com/tensorflow/tensorflow/issues/36153", "a worker that runs out of data"),
        ("https://github.com/tensorflow/tensorflow/issues/34821", "the same on Kubeflow"),
        ("https://github.com/tensorflow/tensorflow/issues/36515", "steps_per_epoch is needed"),
    ),
    seen=(
        "lab: tests/training/test_training.py::test_workers_whose_data_end_at_different_steps_abort",
        "lab: tests/training/test_training.py::test_repeat_without_a_number_of_steps_is_refused",
        "lab: tests/training/test_training.py::test_a_data_set_without_repeat_runs_out_in_a_later_epoch",
        "source: keras src/engine/data_adapter.py",
    ),
)

_FIT = {"epochs": 3, "steps": 12, "validation_data": 7, "validation_steps": 13}  # positions, x being 0


def faults(script: Script) -> Iterator[Finding]:
    events = _trace.of_several(script)
    seen = set()
    for event in events:
        for message, severity in _judge(event):
            if (event.line, message) not in seen:
                seen.add((event.line, message))
                yield event.line, message, severity


def _judge(event: Event) -> Iterator[tuple[str, Severity | None]]:
    if event.kind != "method" or not _keras.is_distributed(event):
        return
    call = event.call
    if event.name == "fit":
        given = _keras.is_given(call, _FIT["steps"], "steps_per_epoch")
        if given is False:
            yield from _training(call)
        elif given:
            yield from _later_epochs(call)
        data = call.get(_FIT["validation_data"], "validation_data") or UNKNOWN
        if _keras.is_given(call, _FIT["validation_steps"], "validation_steps") is False:
            if _all(data, "uneven"):
                yield (
                    "validation_data without validation_steps: the shards are uneven, and one worker runs out of data before the others",
                    None,
                )
            elif _all(data, "endless"):
                yield "validation_data repeats without end and there are no validation_steps: the validation cannot end", None
    elif event.name == "evaluate" and _keras.is_given(call, 5, "steps") is False:
        data = call.get(0, "x") or UNKNOWN
        if _all(data, "endless"):
            yield "evaluate() of a data set that repeats without end needs steps", None
        elif _all(data, "uneven"):
            yield "evaluate() without steps: the shards may be uneven, and one worker may run out of data before the others", "warning"


def _training(call: Call) -> Iterator[tuple[str, Severity | None]]:
    data = call.get(0, "x") or UNKNOWN
    if _all(data, "uneven"):
        yield (
            "fit() without steps_per_epoch on a data set without repeat(): the shards are uneven, and one worker runs out of data first",
            None,
        )
    elif _all(data, "endless"):
        yield "fit() without steps_per_epoch on a data set that repeats without end: the epoch cannot end", None
    elif _any(data, "uneven"):
        yield "fit() without steps_per_epoch on a data set that may end: one worker may run out of data first", "warning"
    elif (labels := call.get(1, "y")) is not None and not is_constant(labels, None):
        yield "fit() without steps_per_epoch on arrays: that all workers have as many of them is not checked", "warning"


def _later_epochs(call: Call) -> Iterator[tuple[str, Severity | None]]:
    """What a data set without repeat() has for the epochs after the first, where each has a number of steps."""
    epochs, steps = call.get(_FIT["epochs"], "epochs"), call.get(_FIT["steps"], "steps_per_epoch")
    if epochs is None or steps is None or call.get(11, "initial_epoch") is not None or number(epochs) in (0, 1):
        return
    options = list((call.get(0, "x") or UNKNOWN).options())
    found = [_runs_out(option, steps, number(epochs)) for option in options]
    if None not in found:
        certain = all(found) and number(epochs) is not None
        message = "fit() with steps_per_epoch and several epochs on a data set without repeat(): a later epoch runs out of data"
        unless = "" if certain else ", unless its cardinality is that number or one pass is enough for all"
        yield message + unless, None if certain else "warning"


def _runs_out(data: Value, steps: Value, epochs: int | None) -> bool | None:
    """Whether one pass is too short for all epochs: it is, it may be, None where it is not or nothing is known."""
    if data.kind != "dataset" or data.data.infinite is not False or data.data.counted is None:
        return None
    dataset: Dataset = data.data
    if dataset.sharded or dataset.unsharded or dataset.policy in ("OFF", "?"):
        return None  # a worker may have more than its part of a pass
    counted = dataset.counted and data.name != "distributed"
    samples, batch, wanted = number(dataset.samples), number(dataset.batch), number(steps)
    if samples is not None and batch and wanted is not None:
        length = samples // batch if dataset.full else -(-samples // batch)
        enough = (counted and length == wanted) or (epochs is not None and length >= wanted * epochs)
        return None if enough or epochs is None else True
    whole = dataset.batch is not None and _is_pass(steps, dataset.batch)
    if not counted:
        return whole
    return False if whole and not dataset.full else None  # the same number only where no batch is cut short


def _is_pass(steps: Value, batch: Value) -> bool:
    """Whether a number of steps is one of samples by the size of the batch."""
    if steps.is_made("builtins.max", "builtins.int"):
        return any(_is_pass(each, batch) for each in steps.data.args)
    if not steps.is_made(QUOTIENT):
        return False
    divisor = steps.data.args[1]
    return divisor is batch or (divisor.kind == batch.kind == "constant" and divisor.data == batch.data)


def _all(value: Value, what: str) -> bool:
    return all(_is(option, what) for option in value.options())


def _any(value: Value, what: str) -> bool:
    return any(_is(option, what) for option in value.options())


def _is(value: Value, what: str) -> bool:
    if value.kind != "dataset":
        return False
    if what == "endless":
        return value.data.infinite is True
    return value.data.infinite is False and not value.data.even
