"""What libraries do with values: TensorFlow, Keras, os, json and the few others that decide what the rules ask."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING

from gate.scripts import _datasets, _keras, _names
from gate.scripts._values import (
    DEVICES,
    KIND,
    NONE,
    RANK,
    SAME,
    UNKNOWN,
    Call,
    Function,
    Item,
    Model,
    Taint,
    Value,
    choice,
    constant,
    extended,
    is_constant,
    renewed,
    taint_of,
)

if TYPE_CHECKING:
    from gate.scripts._evaluate import Evaluator

KNOWN = sys.stdlib_module_names | {"builtins", "numpy", "tensorflow", "keras", "tf_keras", "absl", "pandas", "yaml", "tensorflow_datasets"}
_DIFFERS = ("tempfile.", "uuid.", "socket.", "platform.node", "os.uname", "os.getpid", "os.gethostname", "threading.get")
_VARIES = ("time.", "datetime.", "random.", "secrets.", "numpy.random.", "builtins.open", "builtins.input", "subprocess.", "os.getcwd")
_LEAVES = ("sys.exit", "os._exit", "os.abort", "builtins.exit", "builtins.quit")
_RUNS = ("absl.app.run", "tensorflow.compat.v1.app.run", "fire.Fire", "typer.run", "asyncio.run")
_WRAPS = ("tensorflow.function", "tensorflow.autograph.experimental.do_not_convert", "functools.lru_cache", "functools.cache")
_RESOLVERS = ("TFConfigClusterResolver", "SimpleClusterResolver", "SlurmClusterResolver", "KubernetesClusterResolver")
_KEEP_RANK = ("builtins.int", "builtins.str", "builtins.bool", "builtins.float", "operator.", "re.", "builtins.divmod", "builtins.repr")
_TEXT_KEPT = ("os.path.", "pathlib.", "builtins.str", "os.fspath", "tensorflow.io.gfile.join")
_COPIES = ("builtins.list", "builtins.tuple", "builtins.sorted", "builtins.iter", "copy.copy", "copy.deepcopy", "builtins.reversed")


def thing(name: str) -> Value:
    """What a name of a library stands for. Of a module that is not known, it may be the worker's index."""
    name = _names.canonical(name)
    if name.partition(".")[0] in KNOWN:
        return Value(kind="library", name=name, taint=Taint.SAME)
    rank = _names.says_rank(name.rpartition(".")[2])
    return Value(kind="library", name=name, taint=Taint.DIFFERS if rank else Taint.UNKNOWN, rank=rank)


def called(tracer: Evaluator, name: str, call: Call) -> Value:
    """What a library's function gives, and what it does: an event, and the script's functions that it calls."""
    name = _names.canonical(name)
    if name.startswith("os.environ.") or name in ("os.getenv", "os.putenv", "os.environb.get"):
        return _environment(tracer, name.rpartition(".")[2], call)
    result = _result(tracer, name, call)
    root = name.partition(".")[0]
    known = root in KNOWN or bool(_names.keras_name(name))
    tracer.emit("call" if known else "opaque", name, call=call, result=result)
    if name in _LEAVES:
        tracer.ended = True
    if name in _RUNS:
        for value in call.args[:1]:
            for option in value.options():
                if option.kind == "function":
                    result = tracer.enter(option.data, Call(args=(UNKNOWN,)) if "app.run" in name else Call(args=call.args[1:]))
    if name == "tensorflow.distribute.experimental_set_strategy" and call.args:
        tracer.scopes.append(scope_of(choice([Value(kind="scope", data=option) for option in call.args[0].options()])))
    return result


def _result(tracer: Evaluator, name: str, call: Call) -> Value:
    keras = _names.keras_name(name)
    last = name.rpartition(".")[2]
    taint = taint_of(call.values())
    if name == _names.STRATEGY or (name.startswith("tensorflow.distribute.") and (last.endswith("Strategy") or last == "get_strategy")):
        return Value(kind="strategy", name=name, taint=Taint.SAME)
    dataset = _datasets.made(name, keras, call)
    if dataset:
        return renewed(dataset, data=dataclasses.replace(dataset.data, line=tracer.line)) if dataset.kind == "dataset" else dataset
    if _makes_model(keras):
        return Value(kind="model", name=name, data=Model(scoped=tracer.scoped, built=_is_built(keras, call)), taint=Taint.SAME)
    if keras.startswith("datasets."):
        return Value(kind="made", name="keras.datasets", data=call, taint=Taint.SAME)
    if name.startswith("builtins.") or name in ("functools.partial", "json.loads", "copy.copy", "copy.deepcopy", *_WRAPS):
        special = _builtin(tracer, name, call)
        if special:
            return special
    if name.startswith(_DIFFERS):
        return Value(kind="made", name=name, data=call, taint=Taint.DIFFERS, rank=name.startswith(("socket.gethost", "platform.node")))
    if name.startswith(_VARIES):
        return Value(kind="made", name=name, data=call, taint=max(taint, Taint.UNKNOWN))
    if name.partition(".")[0] not in KNOWN and not keras:
        return RANK if _names.says_rank(last) else Value(taint=max(taint, Taint.UNKNOWN))
    if name.startswith("tensorflow.python.distribute.multi_worker_util.") and last in ("is_chief", "should_save_checkpoint"):
        return KIND
    if last in _RESOLVERS:
        return Value(kind="made", name="resolver", data=call, taint=Taint.SAME)
    rank = name.startswith(_KEEP_RANK) and any(value.rank for value in call.values())
    return Value(kind="made", name=name, data=call, taint=taint, rank=rank, text=_text(name, call))


def _makes_model(keras: str) -> bool:
    return keras in ("Sequential", "Model", "models.load_model", "models.clone_model", "models.model_from_json", "saving.load_model") or (
        keras.startswith("applications.") and _names.is_type(keras)
    )


def _is_built(keras: str, call: Call) -> bool:
    """Whether a model has its variables at once: all have but one of layers that are not told the shape of their input."""
    if keras != "Sequential":
        return True
    layers = call.get(0, "layers")
    first = layers.data[0].value if layers is not None and layers.kind == "items" and layers.data else UNKNOWN
    if first.kind != "made":
        return False
    return _names.keras_name(first.name).removeprefix("layers.") in ("Input", "InputLayer") or "input_shape" in first.data.kwargs


def _text(name: str, call: Call) -> str | None:
    """The known beginning of a path that is put together."""
    if not name.startswith(_TEXT_KEPT) or not call.args:
        return None
    if name == "os.path.join":
        absolute = [value.text for value in call.args if value.text is not None and value.text.startswith("/")]
        return absolute[-1] if absolute else call.args[0].text
    return call.args[0].text


def _builtin(tracer: Evaluator, name: str, call: Call) -> Value | None:
    first = call.args[0] if call.args else UNKNOWN
    match name:
        case "builtins.dict":
            base = first.data if first.kind == "mapping" else {}
            return Value(kind="mapping", data={**base, **call.kwargs}, taint=taint_of(call.values()))
        case "builtins.getattr" if len(call.args) > 1 and call.args[1].kind == "constant":
            return tracer.attribute(first, str(call.args[1].data))
        case "builtins.map" | "builtins.filter" if first.kind == "function":
            tracer.enter(first.data, Call(complete=False))
            return UNKNOWN
        case "builtins.isinstance" | "builtins.hasattr" | "builtins.callable" | "builtins.len" | "builtins.print":
            if first.is_made(*DEVICES):
                return first
            if name == "builtins.len" and first.kind == "tfconfig" and first.name == "workers":
                return Value(kind="workers", taint=Taint.SAME)
            return Value(taint=Taint.SAME if first.kind in ("environ", "tfconfig") else first.taint)
        case "functools.partial" if first.kind == "function":
            function: Function = first.data
            bound = Function(
                node=function.node,
                scope=function.scope,
                owner=function.owner,
                home=function.home,
                bound=(*function.bound, *call.args[1:]),
                keywords={**function.keywords, **call.kwargs},
            )
            return renewed(first, data=bound)
        case "json.loads" if any(option.kind == "environ" and option.name == "TF_CONFIG" for option in first.options()):
            return Value(kind="tfconfig", taint=Taint.DIFFERS)
        case "tensorflow.function" if first.kind == "function":
            tracer.compiled.add(first.data.node)
            return first
        case "tensorflow.function" | "tensorflow.autograph.experimental.do_not_convert" | "functools.lru_cache" | "functools.cache":
            return first
        case _ if name in _COPIES and first.kind in ("items", "mapping", "dataset", "choice"):
            if first.kind == "items":
                return renewed(first, data=list(first.data))
            return renewed(first, data=dict(first.data)) if first.kind == "mapping" else first
    return None


# The environment


def _environment(tracer: Evaluator, verb: str, call: Call) -> Value:
    key, value = call.get(0, "key"), call.get(1, "default", "value")
    match verb:
        case "get" | "getenv" | "pop":
            return read_variable(tracer, key or UNKNOWN, value or Value(kind="constant", taint=Taint.SAME))
        case "setdefault":
            before = read_variable(tracer, key or UNKNOWN, value or UNKNOWN)
            write_variable(tracer, key or UNKNOWN, value or UNKNOWN, only_default=True)
            return before
        case "update":
            update_variables(tracer, call)
        case "copy":
            return Value(taint=Taint.UNKNOWN)
    return SAME


def read_variable(tracer: Evaluator, key: Value, default: Value | None) -> Value:
    if key.kind != "constant" or not isinstance(key.data, str):
        return UNKNOWN
    name = key.data
    tracer.emit("read", name, call=Call(args=(default,) if default else ()))
    if name in tracer.environment and name != "TF_CONFIG":
        return tracer.environment[name]
    differs = _names.variable_differs(name)
    return Value(
        kind="environ",
        name=name,
        taint=Taint.DIFFERS if differs else Taint.SAME,
        rank=_names.variable_is_rank(name),
        text=default.text if default else None,
    )


def write_variable(tracer: Evaluator, key: Value, value: Value, *, only_default: bool = False) -> None:
    if key.kind == "constant" and isinstance(key.data, str):
        tracer.emit("write", key.data, call=Call(args=(value,), kwargs={"only_default": constant(only_default)}))
        if not only_default:
            tracer.environment[key.data] = value


def update_variables(tracer: Evaluator, call: Call) -> None:
    given = {**call.kwargs}
    for value in call.args:
        if value.kind == "mapping":
            given |= value.data
    for key, value in given.items():
        write_variable(tracer, constant(key), value)


# Parts of values


def attribute(base: Value, name: str) -> Value:
    match base.kind:
        case "library":
            return thing(f"{base.name}.{name}")
        case "strategy" if name == "cluster_resolver":
            return Value(kind="made", name="resolver", data=Call(), taint=Taint.SAME)
        case "strategy" if name == "extended":
            return Value(kind="made", name="extended", data=Call(), taint=Taint.SAME)
        case "strategy" if name == "num_replicas_in_sync":
            return Value(kind="workers", taint=Taint.SAME) if base.name == _names.STRATEGY else SAME
        case "made" if base.name == "resolver" and name in ("task_id", "task_type"):
            return RANK if name == "task_id" else KIND
        case "made" if base.name == "extended":
            own = name in ("should_checkpoint", "should_save_summary", "is_chief") or _names.says_rank(name.removeprefix("_"))
            if name == "_num_workers":
                return Value(kind="workers", taint=Taint.SAME)
            return KIND if own else RANK if name == "_id_in_cluster" else SAME
        case "made" if base.name.endswith(("parse_args", "parse_known_args")):
            return RANK if _names.says_rank(name) else Value(taint=Taint.SAME)
        case "made" if name in base.data.attributes:
            found: Value = base.data.attributes[name]
            return found
    rank = base.rank or (base.kind in ("unknown", "method") and _names.says_rank(name))
    return Value(kind="method", name=name, data=base, taint=Taint.DIFFERS if rank else base.taint, rank=rank)


def subscript(base: Value, key: Value) -> Value:
    if base.kind == "tfconfig":
        if base.name not in ("", "task"):
            name = "workers" if base.name == "cluster" and is_constant(key, "worker") else "part"
            return Value(kind="tfconfig", name=name, taint=Taint.SAME)
        if is_constant(key, "cluster"):
            return Value(kind="tfconfig", name="cluster", taint=Taint.SAME)
        if is_constant(key, "task"):
            return Value(kind="tfconfig", name="task", taint=Taint.DIFFERS)
        return KIND if is_constant(key, "type") else RANK
    if base.kind == "mapping" and key.kind == "constant" and key.data in base.data:
        found: Value = base.data[key.data]
        return found
    if base.kind == "mapping" and base.data:
        return choice(list(base.data.values()), test=key)
    if base.kind == "items" and key.kind == "constant" and isinstance(key.data, int) and -len(base.data) <= key.data < len(base.data):
        item: Item = base.data[key.data]
        return item.value
    if base.kind == "items" and base.data and key.rank:
        return choice([item.value for item in base.data], test=key)
    if base.is_made("keras.datasets"):
        return base
    text = base.text if base.kind in ("made", "unknown") else None
    return Value(taint=max(base.taint, key.taint), rank=base.rank or (key.rank and key.kind != "constant"), text=text)


def set_attribute(tracer: Evaluator, base: Value, name: str, value: Value) -> None:
    """`options.experimental_distribute.auto_shard_policy = …` is remembered by the options themselves."""
    for option in base.options():
        owner = option
        while owner.kind == "method":
            owner = owner.data
        if owner.kind == "made":
            owner.data.attributes[name] = value
        elif owner.kind == "object":
            before = owner.data.attributes.get(name)
            tests = [branch.test for branch in tracer.path if not branch.root]
            test = Value(taint=taint_of(tests), rank=any(each.rank for each in tests))
            if before is None or not tests:
                owner.data.attributes[name] = value
            else:
                owner.data.attributes[name] = choice([before, value], test=test)


def scope_of(value: Value) -> bool | None:
    """Whether entering a value enters our strategy's scope: it does, it does not, it cannot be known."""
    found = False
    for option in value.options():
        if option.kind == "scope":
            found = found or option.data.name == _names.STRATEGY
            if option.data.kind != "strategy" or option.data.name.endswith("get_strategy"):
                return True if found else None
        elif (
            option.kind in ("unknown", "object", "class")
            or option.is_made("generator")
            or (option.kind == "method" and option.name == "scope")
        ):
            return None
    return found


# Methods


def method(tracer: Evaluator, receiver: Value, name: str, call: Call) -> Value:
    """What a method of something that is not of the script gives."""
    if receiver.kind == "choice":
        return choice([method(tracer, option, name, call) for option in receiver.options()])
    result = _method_result(tracer, receiver, name, call)
    tracer.emit("method", name, call=call, receiver=receiver, result=result)
    if name == "fit":
        _fit_calls(tracer, call)
    return result


def _fit_calls(tracer: Evaluator, call: Call) -> None:
    """What the script's own callbacks do, with what Keras tells them: an epoch or a batch, the same on all workers, and its logs."""
    for value, path in _keras.callbacks(call):
        with tracer.under(*(branch for branch in path if branch not in tracer.path)):
            for name in _keras.hooks(value):
                function = value.data.kwargs[name] if value.kind == "made" else tracer.attribute(value, name)
                counted = name.startswith("on_epoch") or "_batch_" in name
                tracer.apply(function, Call(args=(SAME, UNKNOWN) if counted else (UNKNOWN,)))
                tracer.ended = False


def _method_result(tracer: Evaluator, receiver: Value, name: str, call: Call) -> Value:
    first = call.args[0] if call.args else UNKNOWN
    match receiver.kind, name:
        case "strategy" | "unknown", "scope":
            return Value(kind="scope", data=receiver, taint=Taint.SAME)
        case "strategy", "run" | "distribute_datasets_from_function" | "experimental_distribute_datasets_from_function":
            replicas = receiver.name == _names.STRATEGY and name == "run"
            tracer.scopes += [True] * replicas
            result = _strategy_calls(tracer, name, first, call)
            if replicas:
                tracer.scopes.pop()
            return result
        case "strategy" | "unknown", "experimental_distribute_dataset":
            return choice([renewed(option, name="distributed") if option.kind == "dataset" else option for option in first.options()])
        case "scope", "__enter__":
            tracer.scopes.append(scope_of(receiver))
        case _, "enter_context" if first.kind in ("scope", "choice"):
            tracer.scopes.append(scope_of(first))
        case "items", "append" | "add" | "insert":
            receiver.data.append(Item(value=call.args[-1] if call.args else UNKNOWN, path=tracer.path))
            return SAME
        case "items", "extend" if first.kind == "items":
            receiver.data[:] = extended(receiver.data, [Item(value=item.value, path=tracer.path) for item in first.data])
            return SAME
        case "mapping", "update":
            receiver.data.update({**(first.data if first.kind == "mapping" else {}), **call.kwargs})
            return SAME
        case "mapping", "get" | "pop" if first.rank and receiver.data:
            return choice([*receiver.data.values(), call.get(1) or NONE], test=first)
        case "mapping", "get" | "pop":
            return subscript(receiver, first) if first.kind == "constant" and first.data in receiver.data else call.get(1) or UNKNOWN
        case "mapping", "setdefault" if first.kind == "constant" and len(call.args) > 1:
            return receiver.data.setdefault(first.data, call.args[1])  # type: ignore[no-any-return]
        case "tfconfig", "get" | "job_tasks":
            return subscript(receiver, first)
        case "tfconfig", "as_dict":
            return receiver
        case "tfconfig", "num_tasks" if is_constant(first, "worker"):
            return Value(kind="workers", taint=Taint.SAME)
        case "dataset", _:
            found = _datasets.method(tracer, receiver, name, call)
            if found:
                return found
    if receiver.is_made("resolver") and name == "cluster_spec":
        return Value(kind="tfconfig", name="cluster", taint=Taint.SAME)
    if receiver.is_made("resolver"):
        return RANK if name in ("get_task_id", "get_task_info") else SAME
    if receiver.kind in ("model", "object") or (receiver.kind == "made" and name in ("parse_args", "parse_known_args")):
        return Value(kind="made", name=name, data=call, taint=Taint.SAME)
    if receiver.kind == "environ" and receiver.name == "TF_CONFIG":
        return Value(taint=Taint.DIFFERS)
    taint = max(taint_of(call.values()), receiver.taint)
    rank = receiver.rank or (receiver.kind == "unknown" and _names.says_rank(name))
    text = (receiver.text or "").partition("{")[0] if name == "format" else receiver.text
    return Value(kind="unknown", taint=Taint.DIFFERS if rank else taint, rank=rank, text=text)


def _strategy_calls(tracer: Evaluator, name: str, first: Value, call: Call) -> Value:
    for option in first.options():
        if option.kind == "function":
            arguments = call.get(1, "args")
            given = tuple(item.value for item in arguments.data) if arguments and arguments.kind == "items" else ()
            result = tracer.enter(option.data, Call(args=given or (UNKNOWN,), complete=bool(given)))
            if name != "run" and result.kind == "dataset":
                return renewed(result, data=_datasets.by_hand(result.data), name="distributed")
            return UNKNOWN
    return UNKNOWN


def is_tensor(value: Value) -> bool:
    return value.is_made("tensor")


def makes_tensors(value: Value) -> bool:
    """Whether calling a value runs operations: a layer, a loss, a model."""
    return value.kind in ("model", "object") or bool(_names.keras_name(value.name))
