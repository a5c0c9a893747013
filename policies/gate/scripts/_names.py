"""The names of libraries as scripts write them, brought to one form; and what a name says by itself."""

from __future__ import annotations

import re

STRATEGY = "tensorflow.distribute.MultiWorkerMirroredStrategy"
_KERAS_ROOTS = ("tensorflow.keras.", "tf_keras.", "keras.", "tensorflow.python.keras.")
_MOVED = (
    ("tensorflow.compat.v2.", "tensorflow."),
    ("tensorflow._api.v2.", "tensorflow."),
    ("keras.api._v2.keras.", "keras."),
    ("keras.api.", "keras."),
)
_KERAS_MOVED = (
    ("models.Sequential", "Sequential"),
    ("models.Model", "Model"),
    ("engine.training.Model", "Model"),
    ("layers.experimental.preprocessing.", "layers."),
    ("callbacks.experimental.", "callbacks."),
    ("optimizers.legacy.", "optimizers."),
    ("optimizers.experimental.", "optimizers."),
    ("mixed_precision.experimental.", "mixed_precision."),
    ("preprocessing.image_dataset_from_directory", "utils.image_dataset_from_directory"),
    ("preprocessing.text_dataset_from_directory", "utils.text_dataset_from_directory"),
    ("preprocessing.timeseries_dataset_from_array", "utils.timeseries_dataset_from_array"),
)
# tf.optimizers and the like are Keras' under another name.
_BORROWED = ("optimizers", "losses", "metrics", "initializers")

_RANK_NAME = re.compile(
    r"_*(?:(?:is|am)_)?(?:the_)?(?:chief|master|leader|main_(?:process|worker)|rank_?(?:0|zero)|first_worker|coordinator)"
    r"(?:_(?:worker|process|node|task))?_*"
    r"|_*(?:\w+_)?rank_*"
    r"|_*(?:my_|this_|current_)?(?:task|worker|node|process|shard|host|pod|machine|completion)_?(?:index|idx|id|num|number|type|rank)_*",
    re.IGNORECASE,
)
_EVERYWHERE = re.compile(r"num|count|total|size|world", re.IGNORECASE)
_POD_VARIABLE = re.compile(
    r"INDEX|RANK|HOST|POD|TASK|ORDINAL|WORKER_(?:ID|NAME)|PROCESS_ID|NODE_(?:ID|NAME|IP)|CHIEF|TMP|TEMP|SCRATCH|LOCAL"
)
_RANK_VARIABLE = re.compile(r"(?:\w+_)?(?:INDEX|RANK|HOSTNAME|POD_NAME|TASK_ID|TASK_TYPE|ORDINAL|WORKER_ID|PROCESS_ID|NODE_ID|IS_CHIEF)")


def canonical(name: str) -> str:
    """One name for a thing of a library, whatever module it was reached through."""
    for old, new in _MOVED:
        if name.startswith(old):
            name = new + name.removeprefix(old)
    if name.rpartition(".")[2] in ("MultiWorkerMirroredStrategy", "CollectiveAllReduceStrategy"):
        return STRATEGY
    first, _, rest = name.removeprefix("tensorflow.").partition(".")
    if name.startswith("tensorflow.") and first in _BORROWED and rest:
        return f"tensorflow.keras.{first}.{rest}"
    return name


def short(name: str) -> str:
    """A name of TensorFlow's as scripts write it."""
    return f"tf.{name.removeprefix('tensorflow.')}" if name.startswith("tensorflow.") else name


def keras_name(name: str) -> str:
    """The name within Keras, "" for anything else: tf_keras.models.Sequential is Sequential."""
    for root in _KERAS_ROOTS:
        if name.startswith(root):
            inside = name.removeprefix(root).removeprefix("src.")
            for old, new in _KERAS_MOVED:
                if inside.startswith(old):
                    return new + inside.removeprefix(old)
            return inside
    return ""


def says_rank(name: str) -> bool:
    """Whether a name that cannot be followed says that it holds the worker's own index or type."""
    return bool(_RANK_NAME.fullmatch(name)) and not _EVERYWHERE.search(re.sub(r"(?i)(worker|task|node|process)_?num(ber)?$", "", name))


def variable_differs(name: str) -> bool:
    """Whether an environment variable is set per pod. Most are the same: they stand in the pod template."""
    return name == "TF_CONFIG" or bool(_POD_VARIABLE.search(name))


def variable_is_rank(name: str) -> bool:
    return bool(_RANK_VARIABLE.fullmatch(name))


def is_type(name: str) -> bool:
    """Whether the last part of a dotted name is written as classes are."""
    last = name.rpartition(".")[2]
    return last[:1].isupper()
