"""A loss in a loop of one's own says how it is reduced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gate.model import Rule
from gate.scripts import _names, _trace
from gate.scripts._values import Event, Value
from gate.scripts.legacy_keras import is_keras_2

if TYPE_CHECKING:
    from gate.scripts import Finding, Script

RULE = Rule(
    id="script/loss-reduction",
    title="A loss of Keras 2 that a loop of one's own calls under the strategy is not reduced to a mean over the batch",
    description="What a replica sees is a part of the global batch, so that Keras 2 cannot know what to divide by: a loss object with the "
    "default reduction raises ValueError at the first step (`Please use tf.keras.losses.Reduction.SUM or .NONE for loss reduction`). "
    "Measured on TensorFlow 2.15.1, and on 2.21.0 with tf-keras. Keras 3 lets it pass. Where it is not known which Keras it is, it is a "
    "warning.",
    symptoms=("Please use `tf.keras.losses.Reduction.SUM` or `tf.keras.losses.Reduction.NONE` for loss reduction",),
    severity="error",
    fix="Give the loss reduction=tf.keras.losses.Reduction.NONE, and divide by the global batch: tf.nn.compute_average_loss(loss, "
    "global_batch_size=…).",
    example="loss = tf.keras.losses.MeanSquaredError()   # called in a function that strategy.run runs",
    references=(
        ("https://www.tensorflow.org/tutorials/distribute/custom_training#define_the_loss_function", "the loss of a loop of one's own"),
    ),
    seen=(
        "lab: tests/training/test_training.py::test_a_loss_that_takes_the_mean_is_refused_in_a_loop_of_ones_own",
        "source: keras src/losses.py",
    ),
)

_MEANS = ("auto", "sum_over_batch_size")


def faults(script: Script) -> Iterator[Finding]:
    seen = set()
    for event in _trace.of_several(script):
        if event.kind != "call" or not event.scoped or event.line in seen or not _takes_the_mean(event):
            continue
        name = event.receiver.name
        known = is_keras_2(script, name)
        if known is not False:
            seen.add(event.line)
            short = _names.keras_name(name).removeprefix("losses.")
            message = f"{short} with its default reduction, the mean over the batch, is called under the strategy: Keras 2 refuses it"
            yield event.line, message, None if known else "warning"


def _takes_the_mean(event: Event) -> bool:
    loss = event.receiver
    name = _names.keras_name(loss.name) if loss.kind == "made" else ""
    if not event.name.endswith(".__call__") or not name.startswith("losses.") or not _names.is_type(name):
        return False
    reduction = loss.data.kwargs.get("reduction")
    if reduction is None:  # of the classification losses, the first argument says what they are given
        return loss.data.complete and len(loss.data.args) <= name.endswith("Crossentropy")
    return all(_is_mean(option) for option in reduction.options())


def _is_mean(value: Value) -> bool:
    if value.kind == "library":
        return value.name.rpartition(".")[2].lower() in _MEANS
    return value.kind == "constant" and value.data in _MEANS
