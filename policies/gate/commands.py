"""The texts of manifests that the containers of runs start as Python, other than the *.py keys of ConfigMaps."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import Any

from gate.model import FieldPath, Resource, get
from gate.resolve import Workload

_PYTHON = re.compile(r"(?:.*/)?python(?:\d(?:\.\d+)?)?")
_FLAGS = re.compile(r"-[bBdEhiIOPqsSuvx]+")
_COMMAND = re.compile(r"-[bBdEhiIOPqsSuvx]*c")
_WITH_VALUE = ("-W", "-X")


def texts(resources: Sequence[Resource], workloads: Sequence[Workload]) -> Iterator[tuple[Resource, FieldPath, str]]:
    """What stands after `python -c`, and keys of ConfigMaps that a command names as Python's script: object, path, image.

    Only of `resources`, which are the first of those that the workloads were resolved from.
    """
    seen = set[tuple[int, FieldPath]]()
    for workload in workloads:
        for at, pod, container in _containers(workload):
            words = [(*at, field, n) for field in ("command", "args") for n, _ in enumerate(_list(container.get(field)))]
            command = [str(get(container, word[-2:])) for word in words]
            for number, inline in _scripts(command):
                found = _word(workload, words[number]) if inline else _key(resources, workload, pod, container, command[number])
                if found and found[0] < len(resources) and found not in seen:
                    seen.add(found)
                    yield resources[found[0]], found[1], str(container.get("image", ""))


def _containers(workload: Workload) -> Iterator[tuple[FieldPath, Any, Any]]:
    manifest = workload.effective.value if workload.effective else None
    for number, job in enumerate(_list(get(manifest, ("spec", "replicatedJobs")))):
        pod = get(job, ("template", "spec", "template", "spec"))
        for n, container in enumerate(_list(get(pod, ("containers",)))):
            if isinstance(container, dict):
                yield ("spec", "replicatedJobs", number, "template", "spec", "template", "spec", "containers", n), pod, container


def _scripts(command: Sequence[str]) -> Iterator[tuple[int, bool]]:
    """Which words of a command Python starts, and whether the word is the script itself."""
    for number, word in enumerate(command):
        if not _PYTHON.fullmatch(word):
            continue
        at = number + 1
        while at < len(command) and (command[at] in _WITH_VALUE or _FLAGS.fullmatch(command[at])):
            at += 2 if command[at] in _WITH_VALUE else 1
        if at + 1 < len(command) and _COMMAND.fullmatch(command[at]):
            yield at + 1, True
        elif at < len(command) and not command[at].startswith("-"):
            yield at, False


def _word(workload: Workload, path: FieldPath) -> tuple[int, FieldPath] | None:
    """Where a script among the words was written, unless the kubelet puts variables into it."""
    assert workload.effective
    return None if "$(" in str(get(workload.effective.value, path)) else workload.effective.origin(path)


def _key(resources: Sequence[Resource], workload: Workload, pod: Any, container: Any, file: str) -> tuple[int, FieldPath] | None:
    """The ConfigMap's key that a container has as a file; *.py keys are judged whoever starts them."""
    file = posixpath.normpath(posixpath.join(str(container.get("workingDir") or ""), file))
    for mount in _list(container.get("volumeMounts")):
        folder = posixpath.normpath(str(get(mount, ("mountPath",))))
        source = next(
            (get(each, ("configMap",)) for each in _list(get(pod, ("volumes",))) if get(each, ("name",)) == get(mount, ("name",))), None
        )
        name = get(mount, ("subPath",)) if file == folder else posixpath.relpath(file, folder) if file.startswith(f"{folder}/") else None
        if not isinstance(source, dict) or not isinstance(name, str):
            continue
        items = {str(get(item, ("path",))): get(item, ("key",)) for item in _list(source.get("items"))}
        key = items.get(name) if items else name
        for index, resource in enumerate(resources):
            same = resource.kind == "ConfigMap" and (resource.name, resource.namespace) == (source.get("name"), workload.namespace)
            if same and isinstance(key, str) and not key.endswith(".py") and isinstance(get(resource.manifest, ("data", key)), str):
                return index, ("data", key)
    return None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
