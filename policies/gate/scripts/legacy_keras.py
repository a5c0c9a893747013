"""Keras 2 under the strategy: Keras 3 cannot train with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from packaging.version import Version

from gate.model import Rule
from gate.scripts import _keras, _names, _trace
from gate.scripts._values import Event, Value

if TYPE_CHECKING:
    from gate.scripts import Finding, Script

RULE = Rule(
    id="script/legacy-keras",
    title="fit() and evaluate() under MultiWorkerMirroredStrategy are those of Keras 2",
    description="From TensorFlow 2.16 on, tf.keras is Keras 3, which has no support for this strategy: the first fit or evaluate ends with "
    "`Attempt to convert a value (PerReplica:...) with an unsupported type` (measured on TensorFlow 2.21.0 with Keras 3.15.1; predict "
    "works, and so may a loop of one's own). tf.keras is Keras 2 again where tf-keras of TensorFlow's own minor version is installed and "
    "TF_USE_LEGACY_KERAS=1 is set before TensorFlow is imported; tfrun sets it. `import keras` is Keras 3 even then. Judged only where "
    "TensorFlow's version, or that it is no earlier one, is known: from the script's inline metadata, a requirements.txt or pyproject.toml "
    "beside it, `pip install` in it or in its container's command, or an image tensorflow/tensorflow.",
    symptoms=("Attempt to convert a value (PerReplica: …) with an unsupported type",),
    severity="error",
    fix="Depend on tf-keras of TensorFlow's minor version, set os.environ['TF_USE_LEGACY_KERAS'] = '1' above the first import of "
    "TensorFlow (or start with tfrun), and use tf.keras or tf_keras; or pin tensorflow<2.16; or write the loop with strategy.run.",
    example='# dependencies = ["tensorflow==2.18.1"]\nmodel.fit(data, steps_per_epoch=10)   # under MultiWorkerMirroredStrategy',
    references=(
        ("https://github.com/keras-team/keras/issues/20585", "Keras 3 and MultiWorkerMirroredStrategy"),
        ("https://github.com/tensorflow/tensorflow/issues/72388", "the same; TF_USE_LEGACY_KERAS"),
        ("https://github.com/tensorflow/tensorflow/releases/tag/v2.16.1", "Keras 3 is the default from 2.16"),
    ),
    seen=(
        "lab: tests/training/test_training.py::test_keras_3_cannot_fit_on_several_workers",
        "source: tensorflow-2.21 python/util/lazy_loader.py",
        "source: keras-3 src/backend/tensorflow/trainer.py",
    ),
)

_KERAS_3 = Version("2.16.dev0")
_TENSORFLOW = ("tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tensorflow-rocm", "tensorflow-intel", "tensorflow-cpu-aws")
# Other images may hold anything; NVIDIA's tags name no version of TensorFlow.
_IMAGE = re.compile(r"(?:(?:index\.)?docker\.io/)?tensorflow/tensorflow:v?(\d+\.\d+(?:\.\d+)?)(?:[-@].*)?$")
_TRUE = ("1", "true", "True")  # what TensorFlow compares with
_VARIABLE = "TF_USE_LEGACY_KERAS"


def faults(script: Script) -> Iterator[Finding]:
    events = _trace.events(script)
    listed, version = _version(script)
    if version is None:
        return
    runs = [
        (event, family)
        for event in _keras.runs(_trace.of_several(script), "fit", "evaluate")
        for family in [_family(event.receiver, events)]
        if family
    ]
    if version < _KERAS_3:
        yield from _too_early_for_it(script, events, version)
    elif runs:
        # One fault of the whole script: at the first of the calls that would fail.
        for family in dict.fromkeys(family for _, family in runs):
            event = next(each for each, of in runs if of == family)
            yield from _judge(script, events, event, family, version, listed=listed)


def _version(script: Script) -> tuple[bool, Version | None]:
    """TensorFlow's version, and whether the script itself lists it."""
    for name in _TENSORFLOW:
        if name in script.packages:
            lowest = script.lowest.get(name)
            version = lowest if lowest and lowest >= _KERAS_3 else script.packages[name]
            if version or script.inline:
                return True, version
    found = _IMAGE.match(script.image)
    return False, Version(found[1]) if found else None


def is_keras_2(script: Script, name: str) -> bool | None:
    """Whether a thing of Keras, by its name, is that of Keras 2; None where it is not known which Keras it is."""
    events = _trace.events(script)
    family, (_, version) = _root(name), _version(script)
    if family == "tf_keras" or (version is not None and version < _KERAS_3):
        return True
    if family == "keras":
        return None if version is None else False
    first = next((number for number, each in enumerate(events) if _imports_tensorflow(each)), len(events))
    early = any(_sets(each) for each in events[:first])
    return True if early else None if version is None else False


def _family(receiver: Value, events: Sequence[Event]) -> str:
    """Which Keras a model is of: tensorflow.keras, keras or tf_keras; "" where that is not certain."""
    found: set[str] = set()
    for option in receiver.options():
        if option.kind == "model" and option.name:
            found.add(_root(option.name))
        elif option.kind == "object" and option.data.kind:
            found |= {_root(base) for base in option.data.kind.library_bases() if _names.keras_name(base)}
    if not found:
        made = (event.name for event in events if event.kind == "call" and event.result.kind in ("model", "object"))
        found = {_root(name) for name in made} or {
            _root(event.name) for event in events if event.kind == "call" and _names.keras_name(event.name)
        }
    return found.pop() if len(found) == 1 else ""


def _root(name: str) -> str:
    return "tensorflow.keras" if name.startswith("tensorflow.") else name.partition(".")[0]


def _judge(script: Script, events: Sequence[Event], event: Event, family: str, version: Version, *, listed: bool) -> Iterator[Finding]:
    legacy = script.packages.get("tf-keras")
    has_legacy = "tf-keras" in script.packages
    pinned = version in script.packages.values() or not listed
    minor = f"{version.major}.{version.minor}" if pinned else f"{version} or later"
    needed = f"tf-keras {minor}" if pinned else "tf-keras of its minor version"
    at = f"{event.name}() under MultiWorkerMirroredStrategy"
    if family == "keras":
        own = script.packages.get("keras")
        if own is None or own.major >= 3:
            yield (
                event.line,
                f"{at} with `import keras`: beside TensorFlow {minor} that is Keras 3, which fails, whatever {_VARIABLE} says",
                None,
            )
        return
    if family == "tensorflow.keras":
        first = next((number for number, each in enumerate(events) if _imports_tensorflow(each)), len(events))
        early = any(_sets(each) for each in events[:first])
        late = next((each for each in events[first:] if _sets(each)), None)
        wrong = next((each for each in events if each.kind == "write" and each.name == _VARIABLE), None)
        if not early and late:
            yield late.line, f"{_VARIABLE} is set after the import of TensorFlow or Keras: too late, tf.keras of {minor} is Keras 3", None
            return
        if not early and wrong:
            yield wrong.line, f"{_VARIABLE} is not set to 1: tf.keras of TensorFlow {minor} stays Keras 3, and {at} fails", None
            return
        if not early and not has_legacy:
            yield event.line, f"{at} with Keras 3: TensorFlow {minor} needs {needed} and {_VARIABLE}=1 for Keras 2", None
            return
        if not early:
            message = (
                f"{at}: tf-keras is there, but nothing sets {_VARIABLE}=1 before the import of TensorFlow {minor}, so that it is Keras 3"
            )
            yield event.line, message, "warning" if script.image or not script.inline else None
            return
    if listed and not has_legacy:
        yield event.line, f"{at} needs {needed}, which the script's dependencies do not list", None
    elif pinned and legacy is not None and (legacy.major, legacy.minor) != (version.major, version.minor):
        yield (
            event.line,
            f"tf-keras {legacy} does not fit TensorFlow {version}: its minor version must be {minor}, or Keras 2 cannot be had",
            None,
        )


def _too_early_for_it(script: Script, events: Sequence[Event], version: Version) -> Iterator[Finding]:
    """TensorFlow 2.15 knows the variable as well, and then wants tf_keras."""
    if version < Version("2.15.dev0") or "tf-keras" in script.packages or not script.packages:
        return
    used = any(event.kind == "call" and event.name.startswith("tensorflow.keras.") for event in events)
    wanted = next((event for event in events if _sets(event) and event.call.args[0].kind == "constant"), None)
    if used and wanted:
        yield wanted.line, f"{_VARIABLE}=1 with TensorFlow {version} and without tf-keras: `ImportError: Keras cannot be imported`", None


def _imports_tensorflow(event: Event) -> bool:
    return event.kind == "import" and event.name.partition(".")[0] in ("tensorflow", "keras")


def _sets(event: Event) -> bool:
    if event.kind != "write" or event.name != _VARIABLE:
        return False
    return all(option.kind != "constant" or option.data in _TRUE for option in event.call.args[0].options())
