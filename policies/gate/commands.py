"""What the containers of runs do with the texts of manifests: which they start as Python, how, and in what image."""

from __future__ import annotations

import dataclasses
import functools
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gate import resolve
from gate.model import FieldPath, Resource, as_list, get

_PYTHON = re.compile(r"(?:.*/)?python(?:\d(?:\.\d+)?)?")
_FLAGS = re.compile(r"-[bBdEhiIOPqsSuvx]+")
_COMMAND = re.compile(r"-[bBdEhiIOPqsSuvx]*c")
_WITH_VALUE = ("-W", "-X")
_SHELL = re.compile(r"^(?:\S*/)?(?:ba)?sh\s+-\w*c\s+(?:exec\s+)?")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Container:
    """A container of a run, its path in the effective JobSet, its pod's spec, and what is known of its pods."""

    workload: resolve.Workload
    path: FieldPath
    pod: Mapping[str, Any]
    pods: Mapping[str, Any]
    value: Mapping[str, Any]

    def sees(self, config_map: Resource) -> bool:
        return self.workload.namespace in ("", config_map.namespace)


class Containers:
    """The containers of runs, for the objects that the runs were resolved from: `resources` are the first of these."""

    def __init__(self, resources: Sequence[Resource], workloads: Sequence[resolve.Workload]) -> None:
        self._resources = resources
        self._all = [container for workload in workloads for container in _containers(workload)]
        self._with: dict[str, list[_Container]] = {}  # by the names of the ConfigMaps among their pods' volumes
        for container in self._all:
            names = {get(volume, ("configMap", "name")) for volume in as_list(container.pod.get("volumes"))}
            for name in names:
                if isinstance(name, str):
                    self._with.setdefault(name, []).append(container)
        self._config_maps: dict[tuple[str, str], list[int]] = {}
        for index, resource in enumerate(resources):
            if resource.kind == "ConfigMap":
                self._config_maps.setdefault((resource.namespace, resource.name), []).append(index)

    def image(self, config_map: Resource) -> str:
        """The image of the containers whose pods mount a ConfigMap, "" where there is none or more than one."""
        images = {str(get(each.value, ("image",), "")) for each in self._beside(config_map)}
        return images.pop() if len(images) == 1 else ""

    def commands(self, config_map: Resource) -> list[str]:
        """The commands of the containers whose pods mount a ConfigMap, each with its arguments in one text."""
        return [resolve.words(each.value) for each in self._beside(config_map)]

    def alone(self, config_map: Resource, key: str) -> int:
        """The number of workers whose command starts a ConfigMap's script and that are told nothing of one another.

        Neither tfrun nor TF_CONFIG tells them. 0 where there is one only, or where it is not certain.
        """
        starting = self._starting_alone.get((config_map.name, key), ())
        return next((count for each, count in starting if each.sees(config_map)), 0)

    @functools.cached_property
    def _starting_alone(self) -> Mapping[tuple[str, str], list[tuple[_Container, int]]]:
        found: dict[tuple[str, str], list[tuple[_Container, int]]] = {}
        for each in self._all:
            count = sum(int(pod["count"]) for pod in each.workload.pods if pod["tensorflow"])
            names = [get(other, ("name",)) for other in as_list(each.pod.get("containers"))]
            trains = each.value.get("name") == resolve.NODE if resolve.NODE in names else len(names) == 1
            if count > 1 and trains and each.pods["tensorflow"] and not _told(each.value) and (started := _started(each.value)):
                for place in _keys(each, started):
                    found.setdefault(place, []).append((each, count))
        return found

    def texts(self) -> Iterator[tuple[Resource, FieldPath, str]]:
        """What stands after `python -c`, and keys of ConfigMaps that a command names as Python's script: object, path, image.

        Without the *.py keys, which are judged whoever starts them.
        """
        seen = set[tuple[int, FieldPath]]()
        for each in self._all:
            words = [(*each.path, field, n) for field in ("command", "args") for n, _ in enumerate(as_list(each.value.get(field)))]
            command = [str(get(each.value, word[-2:])) for word in words]
            for number in range(len(command)):
                at, inline = _script(command, number)
                found = None if at is None else _word(each, words[at]) if inline else self._key(each, command[at])
                if found and found[0] < len(self._resources) and found not in seen:
                    seen.add(found)
                    yield self._resources[found[0]], found[1], str(each.value.get("image", ""))

    def _beside(self, config_map: Resource) -> list[_Container]:
        return [each for each in self._with.get(config_map.name, ()) if each.sees(config_map)]

    def _key(self, container: _Container, file: str) -> tuple[int, FieldPath] | None:
        for name, key in _keys(container, file):
            for index in self._config_maps.get((container.workload.namespace, name), ()):
                if not key.endswith(".py") and isinstance(get(self._resources[index].manifest, ("data", key)), str):
                    return index, ("data", key)
        return None


def _containers(workload: resolve.Workload) -> Iterator[_Container]:
    for (number, job), pods in zip(resolve.jobs(workload.effective) if workload.effective else (), workload.pods, strict=True):
        pod = get(job, ("template", "spec", "template", "spec"))
        for n, value in enumerate(as_list(get(pod, ("containers",)))):
            if isinstance(value, dict):
                path = ("spec", "replicatedJobs", number, "template", "spec", "template", "spec", "containers", n)
                yield _Container(workload=workload, path=path, pod=pod, pods=pods, value=value)


def _script(command: Sequence[str], python: int) -> tuple[int | None, bool]:
    """Which word is what the Python at a word starts, None where that is none; and whether the word is the script itself."""
    at = python + 1
    while at < len(command) and (command[at] in _WITH_VALUE or _FLAGS.fullmatch(command[at])):
        at += 2 if command[at] in _WITH_VALUE else 1
    if at >= len(command) or not _PYTHON.fullmatch(command[python]):
        return None, False
    if _COMMAND.fullmatch(command[at]):
        return (at + 1 if at + 1 < len(command) else None), True
    return (None if command[at].startswith("-") else at), False


def _started(container: Mapping[str, Any]) -> str:
    """The script that a container's command is about, "" where something else may come first."""
    words = _SHELL.sub("", resolve.words(container), count=1).split() if as_list(container.get("command")) else []
    at, inline = _script(words, 0)
    return "" if at is None or inline or not words[at].startswith("/") else words[at]


def _told(container: Mapping[str, Any]) -> bool:
    """Whether the environment may hold a TF_CONFIG."""
    return bool(container.get("envFrom")) or any(get(entry, ("name",)) == "TF_CONFIG" for entry in as_list(container.get("env")))


def _word(container: _Container, path: FieldPath) -> tuple[int, FieldPath] | None:
    """Where a script among the words was written, unless the kubelet puts variables into it."""
    effective = container.workload.effective
    assert effective
    return None if "$(" in str(get(effective.value, path)) else effective.origin(path)


def _keys(container: _Container, file: str) -> Iterator[tuple[str, str]]:
    """The keys of ConfigMaps that a container has as a file, each with its ConfigMap's name."""
    file = posixpath.normpath(posixpath.join(str(container.value.get("workingDir") or ""), file))
    for mount in as_list(container.value.get("volumeMounts")):
        folder = posixpath.normpath(str(get(mount, ("mountPath",))))
        volumes = [each for each in as_list(container.pod.get("volumes")) if get(each, ("name",)) == get(mount, ("name",))]
        source = get(volumes[0], ("configMap",)) if volumes else None
        path = get(mount, ("subPath",)) if file == folder else posixpath.relpath(file, folder) if file.startswith(f"{folder}/") else None
        items = {str(get(item, ("path",))): get(item, ("key",)) for item in as_list(get(source, ("items",)))}
        name, key = get(source, ("name",)), items.get(str(path)) if items else path
        if isinstance(name, str) and isinstance(key, str):
            yield name, key
