"""What the rules about Keras share: which events train, evaluate and save, and with what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gate.scripts import _names
from gate.scripts._values import UNKNOWN, Call, Event, Path, Value, is_constant

# Only Keras has these arguments; scikit-learn's fit, say, has not.
_KERAS_ARGUMENTS = {
    "epochs",
    "steps_per_epoch",
    "validation_data",
    "validation_steps",
    "callbacks",
    "steps",
    "validation_split",
    "initial_epoch",
}
_METHODS = ("fit", "evaluate", "predict")


def is_model(value: Value) -> bool:
    return value.kind == "model" or (value.kind == "object" and value.data.model is not None)


def scoped(value: Value) -> bool | None:
    """Whether a model was made in the strategy's scope, as far as that is known."""
    found = {(option.data if option.kind == "model" else option.data.model).scoped for option in value.options() if is_model(option)}
    return True if True in found else None if not found or None in found else False


def runs(events: Sequence[Event], *names: str) -> Iterator[Event]:
    """The calls of a method of a Keras model that may be distributed."""
    for event in events:
        if event.kind == "method" and event.name in names and is_distributed(event):
            yield event


def is_distributed(event: Event) -> bool:
    receiver = event.receiver
    if is_model(receiver):
        return scoped(receiver) is not False
    unknown = receiver.kind in ("unknown", "method")
    return unknown and event.name in _METHODS and bool(_KERAS_ARGUMENTS & set(event.call.kwargs))


def callbacks(call: Call) -> Iterator[tuple[Value, Path]]:
    """The callbacks that a fit is given, each with the decisions that put it into the list."""
    given = call.get(5, "callbacks") or UNKNOWN
    for option in given.options():
        if option.kind == "items":
            for item in option.data:
                for each in item.value.options():
                    yield each, item.path
        elif option.kind in ("made", "object"):
            yield option, ()


def hooks(callback: Value) -> list[str]:
    """What a callback of the script's own, or a LambdaCallback, is called for."""
    if callback_name(callback) == "LambdaCallback":
        return [name for name in callback.data.kwargs if name.startswith("on_")]
    if not is_callback(callback):
        return []
    return sorted({name for kind in callback.data.kind.lineage() for name in kind.members if name.startswith("on_")})


def is_callback(value: Value) -> bool:
    """Whether a value is an object of a class of the script that is a callback of Keras."""
    kind = value.data.kind if value.kind == "object" else None
    return kind is not None and any(_names.keras_name(base).startswith("callbacks.") for base in kind.library_bases())


def callback_name(value: Value) -> str:
    name = _names.keras_name(value.name) if value.kind == "made" else ""
    return name.removeprefix("callbacks.") if name.startswith("callbacks.") else ""


def is_given(call: Call, position: int, name: str) -> bool | None:
    """Whether an argument has a value, None where that is not known."""
    value = call.get(position, name)
    if value is None:
        return False if call.complete else None
    if is_constant(value, None):
        return False
    return None if any(is_constant(option, None) for option in value.options()) else True
