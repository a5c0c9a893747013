"""The strategy before anything else of TensorFlow, TF_CONFIG before the strategy."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gate.model import Rule
from gate.scripts import _names, _trace
from gate.scripts._initialises import initialises, needs_no_context

if TYPE_CHECKING:
    from gate.scripts import Finding, Script
    from gate.scripts._values import Event

RULE = Rule(
    id="script/strategy-first",
    title="MultiWorkerMirroredStrategy is made before any operation of TensorFlow, and TF_CONFIG is set before it",
    description="The strategy starts this worker's server, and it can only do so while TensorFlow's context is not initialised. "
    "A tensor, a variable, a tf.data pipeline, a Keras model or a list of logical devices initialises it, also at import time and in a "
    "module beside the script; then the worker ends with `RuntimeError: Collective ops must be configured at program startup`. TF_CONFIG "
    "is read when the strategy is "
    "made: a value that is written later changes nothing, and each worker trains alone. What sets devices and threads up, on the "
    "other hand, is refused after it (`RuntimeError: Physical devices cannot be modified after being initialized`).",
    symptoms=("Collective ops must be configured at program startup", "Physical devices cannot be modified after being initialized"),
    severity="error",
    fix="Make the strategy the first TensorFlow statement that runs (list_physical_devices, set_memory_growth, seeds and Keras' "
    "precision policy may come before it), and let tfrun set TF_CONFIG.",
    example="MEAN = tf.constant([0.5, 0.5, 0.5])\nstrategy = tf.distribute.MultiWorkerMirroredStrategy()",
    references=(
        ("https://github.com/tensorflow/tensorflow/issues/30551", "Collective ops must be configured at program startup"),
        ("https://github.com/tensorflow/tensorflow/issues/34568", "the same, with operations before the strategy"),
        ("https://www.tensorflow.org/tutorials/distribute/multi_worker_with_keras", "TF_CONFIG and the strategy"),
    ),
    seen=(
        "lab: tests/training/test_training.py::test_an_operation_before_the_strategy_is_too_early",
        "source: tensorflow python/eager/context.py",
        "source: tensorflow python/distribute/cluster_resolver/tfconfig_cluster_resolver.py",
    ),
)


def faults(script: Script) -> Iterator[Finding]:
    events = _trace.of_several(script)
    strategies = [(number, event) for number, event in enumerate(events) if _trace.is_strategy(event)]
    seen: set[tuple[int, str]] = set()
    for number, event in enumerate(events):
        later = [strategy for place, strategy in strategies if place > number and event.possible_at(strategy)]
        if later and initialises(event) and not any(_happened(strategy, event) for place, strategy in strategies if place < number):
            certain = any(event.certain_at(strategy) for strategy in later)
            if certain or not any(branch.root for branch in event.path):
                message = f"{_what(event)} initialises TensorFlow before the strategy of line {_line(script, later[0])} is made: too late"
                if (event.line, message) not in seen:
                    seen.add((event.line, message))
                    yield event.line, message, None if certain else "warning"
        if needs_no_context(event) and (event.line, event.name) not in seen:
            made = [strategy for place, strategy in strategies if place < number and strategy.certain_at(event)]
            if made and not any(each.name == event.name for each in events[: events.index(made[0])]):  # the same once more is let pass
                seen.add((event.line, event.name))
                message = f"{_what(event)} after the strategy of line {_line(script, made[0])}: TensorFlow is initialised and refuses it"
                yield event.line, message, "warning" if _trace.in_try(script, event.line) else None
        if event.kind == "write" and event.name == "TF_CONFIG" and _only_late(event, events[:number]):
            earlier = [strategy for place, strategy in strategies if place < number and strategy.certain_at(event)]
            if earlier and (event.line, "TF_CONFIG") not in seen:
                seen.add((event.line, "TF_CONFIG"))
                yield (
                    event.line,
                    f"TF_CONFIG is set after the strategy was made (line {_line(script, earlier[0])}): too late, it is not read again",
                    None,
                )


def _happened(strategy: Event, event: Event) -> bool:
    return strategy.certain_at(event)


def _only_late(event: Event, before: tuple[Event, ...]) -> bool:
    """Whether TF_CONFIG had no value of the script's own by then, and is not only given a default."""
    return not any(each.kind == "write" and each.name == "TF_CONFIG" for each in before)


def _line(script: Script, event: Event) -> int:
    return script.line(event.line)


def _what(event: Event) -> str:
    if event.origin:
        return f"this import runs {_what(dataclasses.replace(event, origin=''))} ({event.origin}), which"
    name = event.name.removesuffix(".__call__")
    if name != event.name and name == "tensorflow.function":
        return "the call of a tf.function"
    if event.result.kind == "dataset" and not name.startswith("tensorflow_datasets"):
        return f"the data set made by {_names.short(name)}"
    return f"{_names.short(name)}()" if name != "tensorflow.operator" else "an operation"
