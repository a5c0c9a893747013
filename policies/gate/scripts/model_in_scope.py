"""A model in the scope of the strategy that is to train it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gate.model import Rule, Severity
from gate.scripts import _keras, _names, _trace
from gate.scripts._values import Branch, Event

if TYPE_CHECKING:
    from gate.scripts import Finding, Script

RULE = Rule(
    id="script/model-in-scope",
    title="A model that is fitted under MultiWorkerMirroredStrategy is made in the strategy's scope",
    description="A model belongs to the strategy in whose scope it was made. One that was made outside of it is trained by each worker "
    "alone: nothing fails, the workers take no part in each other's steps, and each ends with weights of its own (measured on TensorFlow "
    "2.15.1). Where its variables are there already, fit() in the scope is refused: `colocate_vars_with` must only be passed a variable "
    "created in this tf.distribute.Strategy.scope(). Where the script also uses the strategy for something else, it is a warning. An "
    "object of a metric has variables, too: compile() of a model of the scope refuses one that was made outside of it.",
    symptoms=(
        "`colocate_vars_with` must only be passed a variable created in this tf.distribute.Strategy.scope()",
        "Metric passed to `model.compile` was created inside a different distribution strategy scope than the model",
    ),
    severity="error",
    fix="Make and compile the model, with its metrics, under `with strategy.scope():`; fit() may stand outside of it.",
    example="strategy = tf.distribute.MultiWorkerMirroredStrategy()\nmodel = build()   # no strategy.scope()\nmodel.fit(data, "
    "steps_per_epoch=10)",
    references=(
        ("https://www.tensorflow.org/tutorials/distribute/multi_worker_with_keras#train_the_model", "the model in the scope"),
        ("https://www.tensorflow.org/api_docs/python/tf/distribute/MultiWorkerMirroredStrategy#scope", "what the scope does"),
    ),
    seen=(
        "lab: tests/training/test_training.py::test_a_model_outside_of_the_scope_is_trained_by_each_worker_alone",
        "lab: tests/training/test_training.py::test_a_metric_outside_of_the_scope_is_refused",
        "source: keras src/engine/training.py",
    ),
)


# Their variables are made when they are first used.
_LATER = ("metrics.F1Score", "metrics.FBetaScore", "metrics.MeanTensor")


def faults(script: Script) -> Iterator[Finding]:
    events = _trace.of_several(script)
    yield from _metrics(script, events)
    seen = set()
    for number, event in enumerate(events):
        if event.kind != "method" or event.name != "fit" or event.line in seen or not _is_outside(event):
            continue
        made = next((each for each in events[:number] if _trace.is_strategy(each) and _is_before(each, event)), None)
        if made is None:
            continue
        at = f"the strategy of line {script.line(made.line)}"
        severity: Severity | None = None
        if event.scoped is False:
            message = f"fit() of a model that was made outside of the scope of {at}: each worker trains alone"
            severity = "warning" if _is_used(events) else None
        elif event.scoped and all(option.kind == "model" and option.data.built for option in event.receiver.options()):
            message = f"fit() in the scope of {at}, of a model that was made outside of it: it is refused"
        else:
            continue
        seen.add(event.line)
        yield event.line, message, severity


def _metrics(script: Script, events: Sequence[Event]) -> Iterator[Finding]:
    """The metrics outside of the scope that a model of the scope is compiled with."""
    seen = set()
    for event in events:
        if event.kind != "method" or event.name != "compile" or not _keras.is_model(event.receiver) or not _keras.scoped(event.receiver):
            continue
        for given in (event.call.get(2, "metrics"), event.call.get(4, "weighted_metrics")):
            for item in given.data if given is not None and given.kind == "items" else ():
                made = next((each for each in events if each.result is item.value and _has_variables(each)), None)
                strategy = next((each for each in events if _trace.is_strategy(each)), None)
                if made and strategy and made.scoped is False and made.line not in seen:
                    seen.add(made.line)
                    name = _names.keras_name(made.name).rpartition(".")[2]
                    message = f"{name}() outside of the scope of the strategy of line {script.line(strategy.line)}"
                    yield made.line, f"{message}: compile() of a model that was made in it refuses the metric", None


def _has_variables(event: Event) -> bool:
    name = _names.keras_name(event.name)
    return name.startswith("metrics.") and _names.is_type(name) and name not in _LATER and "multi_label" not in event.call.kwargs


def _is_outside(event: Event) -> bool:
    """Whether a call is of a model that no scope of the strategy can have held."""
    return _keras.is_model(event.receiver) and _keras.scoped(event.receiver) is False


def _is_before(strategy: Event, event: Event) -> bool:
    """Whether the strategy is there for certain, and nothing else may have entered its scope."""
    return strategy.certain_at(event) and _roots(strategy) == _roots(event)


def _roots(event: Event) -> list[Branch]:
    return [branch for branch in event.path if branch.root]


def _is_used(events: Sequence[Event]) -> bool:
    """Whether the strategy is used for anything."""
    for event in events:
        if event.kind == "method" and event.receiver.kind == "strategy" and ("distribute" in event.name or event.name == "run"):
            return True
        if event.result.kind in ("model", "object") and event.scoped is not False:
            return True
    return any(_keras.runs(events, "fit", "evaluate", "predict"))
