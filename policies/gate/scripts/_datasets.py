"""tf.data: what a pipeline is made of decides whether it ends, and whether all workers end at the same step."""

from __future__ import annotations

import ast
import dataclasses
from typing import TYPE_CHECKING

from gate.scripts._values import NONE, UNKNOWN, Call, Dataset, Function, Item, Taint, Value, is_constant, renewed

if TYPE_CHECKING:
    from gate.scripts._evaluate import Evaluator

_FILES = ("TFRecordDataset", "TextLineDataset", "FixedLengthRecordDataset", "Dataset.list_files", "experimental.CsvDataset")
_ENDING = (
    "Dataset.from_tensor_slices",
    "Dataset.from_tensors",
    "Dataset.range",
    "Dataset.load",
    "experimental.load",
    "experimental.SqlDataset",
)
_COUNTED = ("Dataset.from_tensor_slices", "Dataset.from_tensors", "Dataset.range")
_ENDLESS = (
    "Dataset.random",
    "Dataset.counter",
    "experimental.Counter",
    "experimental.RandomDataset",
)
_BY_EPOCHS = {"experimental.make_csv_dataset": 10, "experimental.make_batched_features_dataset": 6}  # where num_epochs stands
_OF_FUNCTIONS = ("flat_map", "interleave")
_SAME_LENGTH = ("map", "shuffle", "prefetch", "cache", "enumerate", "snapshot", "ignore_errors", "scan", "rejection_resample", "unique")
_UNCOUNTED = ("ignore_errors", "scan", "rejection_resample", "unique")
_OTHER_LENGTH = ("filter", "take_while", "skip", "unbatch", "window", "rebatch", "group_by_window", "bucket_by_sequence_length")
_BATCHES = ("batch", "padded_batch", "ragged_batch", "sparse_batch")


# What auto-sharding looks through for the source; of anything else it knows none, and falls back to the data.
_SHARDED_THROUGH = (
    *("map", "shuffle", "prefetch", "cache", "batch", "padded_batch"),
    *("take", "skip", "filter", "unbatch", "shard", "with_options"),
)
_READERS = ("TFRecordDataset", "TextLineDataset", "FixedLengthRecordDataset")
_ONE_PATH = ("os.path.", "os.fspath", "builtins.str", "pathlib.", "tensorflow.io.gfile.join")


def value(dataset: Dataset) -> Value:
    return Value(kind="dataset", data=dataset, taint=Taint.SAME)


def made(name: str, keras: str, call: Call) -> Value | None:
    """A data set from a function of a library, None where it makes something else."""
    if keras.startswith("utils.") and keras.endswith(("_dataset_from_directory", "_dataset_from_array")):
        both = is_constant(call.kwargs.get("subset", UNKNOWN), "both")
        # Read from files, but what is sharded is a list of their names.
        return _several(2, Dataset()) if both else value(Dataset())
    if name in ("tensorflow_datasets.load", "tensorflow_datasets.public_api.load"):
        return _from_catalog(call)
    inside = name.removeprefix("tensorflow.data.")
    if inside == name:
        return None
    if inside in _FILES:
        return value(Dataset(files=True, counted=inside == "Dataset.list_files", source=_source(inside, call)))
    if inside in _ENDING:
        samples = call.args[0] if inside == "Dataset.range" and len(call.args) == 1 else None
        return value(Dataset(counted=True if inside in _COUNTED else None, samples=samples, source=_source(inside, call)))
    if inside in _ENDLESS:
        return value(Dataset(infinite=True))
    if inside in _BY_EPOCHS:
        epochs = call.get(_BY_EPOCHS[inside], "num_epochs") or NONE
        endless = is_constant(epochs, None) or is_constant(epochs, -1)
        return value(Dataset(infinite=endless if epochs.kind == "constant" else None, files=True))
    if inside == "Dataset.from_generator":
        return value(Dataset(infinite=_endless(call.get(0, "generator") or UNKNOWN), source="memory"))
    if inside in ("Dataset.zip", "experimental.sample_from_datasets", "Dataset.sample_from_datasets", "Dataset.choose_from_datasets"):
        return value(_together(call, any_ends=inside == "Dataset.zip"))
    return None


def _source(inside: str, call: Call) -> str:
    given = call.get(0, "filenames", "file_pattern", "tensors") or UNKNOWN
    if inside in _READERS:
        return "file" if _is_one_path(given) else ""
    if inside == "Dataset.list_files":
        last = given.data.args[-1] if given.is_made("os.path.join") and given.data.args else given
        return "name" if last.kind == "constant" and not set(str(last.data)) & set("*?[") else ""
    if inside == "Dataset.from_tensor_slices" and given.kind == "items" and len(given.data) == 1 and _is_one_path(given):
        return "name"
    return "memory" if inside in _COUNTED else ""


def _is_one_path(value: Value) -> bool:
    """Whether a value is one path for certain, or a list of one."""
    if value.kind == "items":
        return len(value.data) == 1 and _is_one_path(value.data[0].value)
    if value.kind == "choice":
        return all(_is_one_path(option) for option in value.options())
    known = value.kind == "constant" or value.kind == "environ" or (value.kind == "made" and value.name.startswith(_ONE_PATH))
    return known and value.text is not None


def _several(count: int, dataset: Dataset) -> Value:
    return Value(kind="items", data=[Item(value=value(dataset), path=()) for _ in range(count)], taint=Taint.SAME)


def _from_catalog(call: Call) -> Value:
    split, info = call.get(1, "split"), call.kwargs.get("with_info")
    data = value(Dataset(files=True))
    if is_constant(call.kwargs.get("batch_size", UNKNOWN), -1):
        data = UNKNOWN
    if split is None:
        data = Value(kind="mapping", data=dict.fromkeys(("train", "test", "validation"), data), taint=Taint.SAME)
    elif split.kind == "items":
        data = Value(kind="items", data=[Item(value=data, path=()) for _ in split.data], taint=Taint.SAME)
    if info is None or is_constant(info, False):
        return data
    return Value(kind="items", data=[Item(value=data, path=()), Item(value=UNKNOWN, path=())], taint=Taint.SAME)


def _endless(generator: Value) -> bool | None:
    """A generator of the script ends unless it loops for ever; of any other nothing is known."""
    if generator.kind != "function":
        return None
    node: ast.AST = generator.data.node
    loops = [each for each in ast.walk(node) if isinstance(each, ast.While)]
    if isinstance(node, ast.Lambda) or any(not isinstance(each.test, ast.Constant) for each in loops):
        return None
    return bool(loops)


def _together(call: Call, *, any_ends: bool) -> Dataset:
    given = call.get(0, "datasets") or UNKNOWN
    values = [item.value for item in given.data] if given.kind == "items" else list(call.args)
    found = [each.data for each in values if each.kind == "dataset"]
    ends = [dataset.infinite for dataset in found]
    if not found or len(found) < len(values) or None in ends or (True in ends and False in ends and not any_ends):
        return Dataset(infinite=None)
    return Dataset(
        infinite=all(ends), files=any(d.files for d in found), full=all(d.full for d in found), sharded=any(d.sharded for d in found)
    )


def method(tracer: Evaluator, receiver: Value, name: str, call: Call) -> Value | None:
    """A data set's method, None where it does not give a data set."""
    changed = _changed(tracer, receiver, name, call)
    if changed is None or changed.kind != "dataset" or name == "apply":
        return changed
    dataset: Dataset = receiver.data
    source, line = dataset.source, dataset.line
    if name in _OF_FUNCTIONS:
        source = "file" if source == "name" and _reads(call.get(0, "map_func") or UNKNOWN) else ""
    elif name not in _SHARDED_THROUGH and not (name == "repeat" and source != "name"):
        source = ""
    if name == "with_options" and changed.data.policy != dataset.policy:
        line = tracer.line
    return renewed(changed, data=dataclasses.replace(changed.data, source=source, line=line))


def _reads(function: Value) -> bool:
    """Whether a function reads the file that it is given."""
    if function.kind == "library":
        return function.name.removeprefix("tensorflow.data.") in _READERS
    return function.kind == "function" and any(_mentions(function.data, reader) for reader in _READERS)


def _changed(tracer: Evaluator, receiver: Value, name: str, call: Call) -> Value | None:
    dataset: Dataset = receiver.data
    changed: Dataset | None = None
    if name in _SAME_LENGTH:
        changed = dataclasses.replace(dataset, counted=None) if name in _UNCOUNTED else dataset
    elif name in _OTHER_LENGTH:
        counted = False if name == "filter" and dataset.counted is not None else None
        changed = dataclasses.replace(dataset, full=False, counted=counted, samples=None)
    elif name in _OF_FUNCTIONS:
        inner = call.get(0, "map_func") or UNKNOWN
        repeats = inner.kind == "function" and _mentions(inner.data, "repeat")
        changed = dataclasses.replace(dataset, infinite=None if repeats and not dataset.infinite else dataset.infinite)
        changed = dataclasses.replace(changed, counted=False, samples=None)
    elif name in _BATCHES:
        full = call.get(1 if name == "batch" else 3, "drop_remainder")
        again = dataset.batch is not None
        changed = dataclasses.replace(dataset, full=full is not None and not is_constant(full, False))
        changed = dataclasses.replace(changed, batch=UNKNOWN if again or name != "batch" else call.get(0, "batch_size"))
    elif name == "repeat":
        count = call.get(0, "count")
        endless = count is None or is_constant(count, None) or is_constant(count, -1)
        known = endless or (count is not None and count.kind == "constant")
        changed = dataclasses.replace(dataset, infinite=True if endless else dataset.infinite if known else None)
        changed = dataclasses.replace(changed, infinite=True if dataset.infinite else changed.infinite, counted=None, samples=None)
    elif name == "take":
        # Of an endless one, it is as long on all workers as the script says; where it is cut decides.
        changed = dataclasses.replace(dataset, infinite=None if dataset.infinite is not False else False, samples=None)
    elif name == "shard":
        changed = dataclasses.replace(dataset, sharded=True, samples=None)
    elif name == "concatenate":
        other = call.get(0, "dataset") or UNKNOWN
        known = other.kind == "dataset" and other.data.infinite is False and dataset.infinite is False
        changed = dataclasses.replace(
            dataset, infinite=dataset.infinite or (False if known else None), full=False, counted=None, samples=None
        )
    elif name == "apply":
        return _applied(tracer, receiver, call)
    elif name == "with_options":
        changed = dataclasses.replace(dataset, policy=_policy(call.get(0, "options") or UNKNOWN) or dataset.policy)
    return renewed(receiver, data=changed) if changed else None


def _applied(tracer: Evaluator, receiver: Value, call: Call) -> Value:
    function = call.get(0, "transformation_func") or UNKNOWN
    if function.kind == "function":
        return tracer.enter(function.data, Call(args=(receiver,)))
    if function.kind == "made" and function.name.endswith("shuffle_and_repeat"):
        count = function.data.get(1, "count")
        endless = count is None or is_constant(count, None) or is_constant(count, -1)
        return renewed(receiver, data=dataclasses.replace(receiver.data, infinite=True if endless else None))
    if function.kind == "made" and function.name.endswith(("assert_cardinality", "ignore_errors")):
        return renewed(receiver, data=dataclasses.replace(receiver.data, counted=None, samples=None))
    if function.kind == "made" and function.name.endswith(("prefetch_to_device", "copy_to_device")):
        return receiver
    return renewed(receiver, data=Dataset(infinite=None))


def _policy(options: Value) -> str:
    """The shard policy in some tf.data.Options; "?" where it was set to what cannot be followed."""
    if not options.is_made("tensorflow.data.Options"):
        return "?"
    found = options.data.attributes.get("auto_shard_policy")
    distribute = options.data.attributes.get("experimental_distribute")
    if found is None and distribute is not None and distribute.kind == "made":
        found = distribute.data.attributes.get("auto_shard_policy")
    if found is None:
        return ""
    return found.name.rpartition(".")[2] if found.kind == "library" else "OFF"  # not followed: what is even at best


def by_hand(dataset: Dataset) -> Dataset:
    """What a function for distribute_datasets_from_function makes is not sharded but by the function itself."""
    return dataclasses.replace(dataset, unsharded=not dataset.sharded)


def _mentions(function: Function, name: str) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == name for node in ast.walk(function.node))
