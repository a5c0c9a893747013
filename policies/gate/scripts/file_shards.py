"""Data that tf.data can share out among the workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gate.model import Rule
from gate.scripts import _keras, _names, _trace
from gate.scripts._values import Dataset, Event, Value

if TYPE_CHECKING:
    from gate.scripts import Finding, Script

RULE = Rule(
    id="script/file-shards",
    title="Data that are shared out by file come from a file for each worker",
    description="A data set that is distributed is shared out among the workers: by file where it reads files (AutoShardPolicy.AUTO, the "
    "default), so that one file for several workers ends the job at its first batch (`Could not apply FILE based sharding`), on whichever "
    "worker meets it first. With AutoShardPolicy.FILE, data that come from no file are refused (`Found an unshardable source dataset`). "
    "Both were measured on TensorFlow 2.15.1 and 2.21.0.",
    symptoms=("Could not apply FILE based sharding: the dataset only has 1 file(s)", "Found an unshardable source dataset"),
    severity="error",
    fix="Split the data into at least as many files as there are workers, or set options.experimental_distribute.auto_shard_policy = "
    "tf.data.experimental.AutoShardPolicy.DATA and ds.with_options(options).",
    example='train = tf.data.TFRecordDataset("/data/train.tfrecord")   # one file, and no AutoShardPolicy.DATA',
    references=(
        ("https://www.tensorflow.org/tutorials/distribute/input#sharding", "how data are shared out"),
        ("https://www.tensorflow.org/api_docs/python/tf/data/experimental/AutoShardPolicy", "the policies"),
    ),
    seen=("lab: tests/training/test_training.py::test_one_file_is_too_little_for_two_workers",),
)

_ARGUMENTS = {"fit": ((0, "x"), (7, "validation_data")), "evaluate": ((0, "x"),), "predict": ((0, "x"),)}


def faults(script: Script) -> Iterator[Finding]:
    seen = set()
    for event in _trace.of_several(script):
        for data in _distributed(event):
            found = [(option.data.line, _refused(option.data)) for option in data.options() if option.kind == "dataset"]
            if len(found) < len(list(data.options())) or not all(message for _, message in found):
                continue
            for line, message in found:
                if (line, message) not in seen:
                    seen.add((line, message))
                    yield line, message, None


def _distributed(event: Event) -> Iterator[Value]:
    """The data sets that an event has the strategy share out."""
    if event.kind != "method":
        return
    if event.name in _ARGUMENTS and _keras.is_distributed(event):
        given = [event.call.get(*argument) for argument in _ARGUMENTS[event.name]]
        yield from (value for value in given if value is not None and value.name != "distributed")
    elif event.name == "experimental_distribute_dataset" and event.receiver.name == _names.STRATEGY and event.call.args:
        yield event.call.args[0]


def _refused(dataset: Dataset) -> str:
    if dataset.unsharded:
        return ""
    if dataset.source == "file" and dataset.policy in ("", "AUTO", "FILE"):
        return "the data are in one file and are shared out by file: there is none for a second worker, and the job ends at its first batch"
    if dataset.source == "memory" and dataset.policy == "FILE":
        return "AutoShardPolicy.FILE for data that come from no file: TensorFlow refuses to share them out"
    return ""
