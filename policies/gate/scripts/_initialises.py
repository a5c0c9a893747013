"""Which calls initialise TensorFlow's context, after which no strategy over several workers can be made.

Measured, call by call, with TensorFlow 2.15.1 and 2.21.0: whether `context.context()._context_handle` exists after it.
What only one of Keras 2 and Keras 3 does (a Dropout layer, an empty Sequential) is not here, but for models, which have
no place before the strategy in either.
"""

from __future__ import annotations

from gate.scripts import _names
from gate.scripts._values import Event

# By the module, where every function in it runs an operation. Types in them (tf.io.FixedLenFeature) do not.
_MODULES = [
    "audio",
    "bitwise",
    "image",
    "linalg",
    "math",
    "nn",
    "quantization",
    "ragged",
    "random",
    "raw_ops",
    "sets",
    "signal",
    "sparse",
    "strings",
    "io",
    "random.Generator",
    "random.experimental",
    "debugging",
    "experimental.numpy",
]
_NOT_OPERATIONS = {
    *("random.set_seed", "debugging.set_log_device_placement", "debugging.enable_check_numerics", "debugging.disable_check_numerics"),
    *("debugging.enable_traceback_filtering", "debugging.disable_traceback_filtering", "debugging.is_traceback_filtering_enabled"),
    *("debugging.is_numeric_tensor", "experimental.numpy.experimental_enable_numpy_behavior", "random.create_rng_state"),
    *("random.get_seed", "io.match_filenames_once", "debugging.get_log_device_placement", "io.is_jpeg", "image.psnr"),
    # top level
    *("function", "get_logger", "executing_eagerly", "as_dtype", "name_scope", "init_scope", "group", "custom_gradient", "recompute_grad"),
    *("grad_pass_through", "no_gradient", "load_op_library", "load_library", "register_tensor_conversion_function", "is_tensor"),
    *("is_symbolic_tensor", "type_spec_from_value", "inside_function", "get_static_value", "control_dependencies", "gradients"),
    *("constant_initializer", "ones_initializer", "zeros_initializer", "random_normal_initializer", "random_uniform_initializer"),
    *("variable_creator_scope", "broadcast_static_shape", "get_current_name_scope", "switch_case", "case", "cond", "while_loop"),
    *("nondifferentiable_batch_function", "hessians", "operator"),
}
_TYPES = {
    *("Variable", "TensorArray", "random.Generator", "sparse.SparseTensor", "SparseTensor", "IndexedSlices"),
    *("lookup.StaticHashTable", "lookup.KeyValueTensorInitializer", "lookup.StaticVocabularyTable"),
    *("lookup.experimental.DenseHashTable", "lookup.experimental.MutableHashTable"),
    *("distribute.MirroredStrategy", "distribute.OneDeviceStrategy"),
}
_FUNCTIONS = {
    *("config.list_logical_devices", "config.experimental.list_logical_devices", "config.experimental.get_memory_info"),
    *("config.experimental.get_memory_usage", "config.experimental.reset_memory_stats", "summary.create_file_writer"),
    *("saved_model.load", "dtypes.cast", "dtypes.complex", "dtypes.saturate_cast", "operator"),
}
_KERAS = {
    *("metrics.", "optimizers."),  # by their variables: iterations, totals
    *("layers.LSTM", "layers.GRU", "layers.TextVectorization", "layers.StringLookup", "layers.IntegerLookup"),
    *("Sequential", "Model", "models.load_model", "models.clone_model", "mixed_precision.LossScaleOptimizer"),
    *("backend.constant", "backend.variable", "backend.zeros", "backend.ones", "backend.random_uniform", "backend.random_normal"),
    *("ops.", "random.normal", "random.uniform"),
}
# What TensorFlow refuses to change once the context is initialised.
_BEFORE = {
    *("config.experimental.set_memory_growth", "config.experimental.set_virtual_device_configuration"),
    *("config.set_logical_device_configuration", "config.threading.set_inter_op_parallelism_threads"),
    "config.threading.set_intra_op_parallelism_threads",
}
_KERAS_ONLY_TYPES = ("metrics.", "optimizers.")
_OTHERS = ("tensorflow_hub.load", "tensorflow_hub.KerasLayer")


def initialises(event: Event) -> bool:
    """Whether an event initialises the context for certain."""
    if event.kind == "method":  # of a tensor or a data set, which was made before, or of a layer that learns from data
        return event.name == "adapt" and _names.keras_name(event.receiver.name).startswith("layers.")
    if event.kind != "call":
        return False
    name = event.name
    if event.result.kind in ("dataset", "model") or name in _OTHERS or name.startswith("tensorflow_datasets.load"):
        return True
    if name.endswith(".__call__"):
        return _called(name.removesuffix(".__call__"), event)
    keras = _names.keras_name(name)
    if keras:
        return _keras(keras)
    inside = name.removeprefix("tensorflow.")
    if inside == name or inside in _NOT_OPERATIONS:
        return False
    if inside in _FUNCTIONS | _TYPES:
        return True
    module, _, last = inside.rpartition(".")
    return (not module or module in _MODULES) and last[:1].islower()


def needs_no_context(event: Event) -> bool:
    """Whether an event fails once the context is initialised."""
    return event.kind == "call" and event.name.removeprefix("tensorflow.") in _BEFORE


def _keras(name: str) -> bool:
    if name in _KERAS:
        return True
    if name.startswith("optimizers.schedules.") or not name.startswith(tuple(prefix for prefix in _KERAS if prefix.endswith("."))):
        return False
    return _names.is_type(name) or not name.startswith(_KERAS_ONLY_TYPES)


def _called(name: str, event: Event) -> bool:
    """A layer, a loss, a metric or a model that is applied to something."""
    if name == "tensorflow.function" or event.receiver.kind in ("model", "object"):
        return True
    return _names.keras_name(name).startswith(("layers.", "losses.", "metrics.", "initializers.", "applications."))
