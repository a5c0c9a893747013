"""Resolves what will run: each TrainJob over its runtime as the JobSet that Trainer makes of it.

Follows pkg/runtime/core/trainingruntime.go and pkg/runtime/framework/plugins of Trainer 2.1 to 2.3: runtimePatches
(podTemplateOverrides in 2.1) are merged strategically, trainer.image, command, args and env go to the container
`node` of the Job with the ancestor label, resourcesPerNode replaces the runtime's resources up to 2.2 and is merged
from 2.3, numNodes becomes parallelism and completions.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from kubernetes.utils.quantity import parse_quantity

from gate.merge import Origin, Traced
from gate.model import FieldPath, Manifest, Resource, get
from gate.schemas import Catalog

ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
FRAMEWORK = "trainer.kubeflow.org/framework"
NODE = "node"
RUNTIME_KINDS = ("ClusterTrainingRuntime", "TrainingRuntime")
_TRAINER = "trainer.kubeflow.org"
_JOBSET = "jobset.x-k8s.io"
_POD_TEMPLATE = {"$ref": "#/definitions/io.k8s.api.core.v1.PodTemplateSpec"}
_JOB_TEMPLATE = {"$ref": "#/definitions/io.k8s.api.batch.v1.JobTemplateSpec"}
_RESOURCES = {"$ref": "#/definitions/io.k8s.api.core.v1.ResourceRequirements"}
_IMAGE = re.compile(r"(?:^|[/_.-])tensorflow(?:[:@/_-]|$)")
_JOBS: FieldPath = ("spec", "replicatedJobs")
_ABSURD = Decimal(10) ** 24  # an exponent of a hostile quantity must not become an integer of a million digits


@dataclasses.dataclass(slots=True, kw_only=True, eq=False)
class Workload:
    """One run: its object, its runtime, and the effective JobSet with the origin of every value in it."""

    index: int
    object: int
    kind: str
    name: str
    namespace: str
    runtime: int | None
    framework: str
    ml_policy: Manifest
    pod_group_policy: Manifest
    effective: Traced | None
    pods: list[dict[str, Any]] = dataclasses.field(default_factory=list)

    @property
    def tensorflow(self) -> bool:
        return any(pod["tensorflow"] for pod in self.pods)

    def for_rules(self) -> dict[str, Any]:
        """What the Rego rules see as an element of input.workloads."""
        demand: dict[str, Decimal] = {}
        for pod in self.pods:
            for name, amount in pod["requests"].items():
                demand[name] = demand.get(name, Decimal(0)) + amount * pod["count"]
        return {
            "index": self.index,
            "object": self.object,
            "kind": self.kind,
            "name": self.name,
            "namespace": self.namespace,
            "runtime": self.runtime,
            "framework": self.framework,
            "tensorflow": self.tensorflow,
            "mlPolicy": self.ml_policy,
            "podGroupPolicy": self.pod_group_policy,
            "jobset": self.effective.value if self.effective else None,
            "pods": [{**pod, "requests": _numbers(pod["requests"]), "limits": _numbers(pod["limits"])} for pod in self.pods],
            "demand": _numbers(demand),
        }


def resolve(resources: Sequence[Resource], catalog: Catalog, malformed: Container[Resource] = ()) -> list[Workload]:
    """The workloads of a target: TrainJobs, bare JobSets, and runtimes that no TrainJob of the target uses.

    Objects in `malformed` hold values of a wrong type somewhere: they are left out, the schema's findings stand for them.
    """
    made: list[Workload] = []
    used: set[int] = set()
    for index, resource in enumerate(resources):
        if resource in malformed:
            continue
        if resource.group == _TRAINER and resource.kind == "TrainJob":
            runtime = _runtime_of(resource, resources)
            if runtime is not None and resources[runtime] in malformed:
                continue
            if runtime is not None:
                used.add(runtime)
            made.append(_train_job(len(made), index, runtime, resources, catalog))
        elif resource.group == _JOBSET and resource.kind == "JobSet":
            effective = Traced({"metadata": dict(resource.metadata), "spec": _mapping(resource.manifest.get("spec"))}, (index, ()))
            made.append(_workload(len(made), index, resource, None, resource.manifest, effective))
    for index, resource in enumerate(resources):
        if resource.group == _TRAINER and resource.kind in RUNTIME_KINDS and index not in used and resource not in malformed:
            effective = _template(index, resource.manifest)
            _set_nodes(
                effective, get(resource.manifest, ("spec", "mlPolicy", "numNodes")), (index, ("spec", "mlPolicy", "numNodes")), resource
            )
            made.append(_workload(len(made), index, resource, index, resource.manifest, effective))
    return made


def _runtime_of(job: Resource, resources: Sequence[Resource]) -> int | None:
    """The index of the runtime that a TrainJob names (runtimeRef defaults: kind ClusterTrainingRuntime)."""
    reference = _mapping(get(job.manifest, ("spec", "runtimeRef")))
    kind = reference.get("kind", "ClusterTrainingRuntime")
    for index, other in enumerate(resources):
        named = other.group == _TRAINER and other.kind == kind and other.name == reference.get("name")
        if named and (kind == "ClusterTrainingRuntime" or other.namespace == job.namespace):
            return index
    return None


def _train_job(number: int, index: int, runtime: int | None, resources: Sequence[Resource], catalog: Catalog) -> Workload:
    job = resources[index]
    if runtime is None:
        return _workload(number, index, job, None, {}, None)
    manifest = resources[runtime].manifest
    effective = _template(runtime, manifest)
    _patches(effective, index, job.manifest, catalog)
    trainer = _mapping(get(job.manifest, ("spec", "trainer")))
    nodes, origin = trainer.get("numNodes"), (index, ("spec", "trainer", "numNodes"))
    if nodes is None:
        nodes, origin = get(manifest, ("spec", "mlPolicy", "numNodes")), (runtime, ("spec", "mlPolicy", "numNodes"))
    _set_nodes(effective, nodes, origin, resources[runtime])
    for at in _trainer_containers(effective):
        _trainer(effective, at, index, trainer, catalog)
    return _workload(number, index, job, runtime, manifest, effective)


def _template(index: int, runtime: Manifest) -> Traced:
    template = _mapping(get(runtime, ("spec", "template")))
    metadata = _mapping(template.get("metadata"))
    return Traced({"metadata": metadata, "spec": _mapping(template.get("spec"))}, (index, ("spec", "template")))


def _patches(effective: Traced, index: int, job: Manifest, catalog: Catalog) -> None:
    """runtimePatches of 2.2 and later; podTemplateOverrides, spec.labels and spec.annotations of 2.1."""
    definitions = catalog.definitions
    for number, patch in enumerate(_list(get(job, ("spec", "runtimePatches")))):
        start: FieldPath = ("spec", "runtimePatches", number, "trainingRuntimeSpec", "template")
        template = _mapping(get(patch, ("trainingRuntimeSpec", "template")))
        effective.merge(("metadata",), _mapping(template.get("metadata")), (index, (*start, "metadata")), {}, definitions)
        for entry, job_patch in enumerate(_list(get(template, ("spec", "replicatedJobs")))):
            at = _job_named(effective, get(job_patch, ("name",)))
            if at is not None:
                origin = (index, (*start, "spec", "replicatedJobs", entry, "template"))
                effective.merge((*_JOBS, at, "template"), _mapping(job_patch.get("template")), origin, _JOB_TEMPLATE, definitions)
    for key in ("labels", "annotations"):
        values = get(job, ("spec", key))
        if isinstance(values, dict):
            effective.merge(("metadata", key), values, (index, ("spec", key)), {}, definitions)
    for number, override in enumerate(_list(get(job, ("spec", "podTemplateOverrides")))):
        start = ("spec", "podTemplateOverrides", number)
        for target in _list(get(override, ("targetJobs",))):
            at = _job_named(effective, get(target, ("name",)))
            for key in ("metadata", "spec"):
                if at is not None and isinstance(override.get(key), dict):
                    path = (*_JOBS, at, "template", "spec", "template")
                    effective.merge(path, {key: override[key]}, (index, start), _POD_TEMPLATE, definitions)


def _set_nodes(effective: Traced, nodes: Any, origin: Origin, runtime: Resource) -> None:
    """numNodes becomes parallelism and completions of the trainer's one Job; under MPI of the Job `node`."""
    mpi = _mapping(get(runtime.manifest, ("spec", "mlPolicy", "mpi")))
    nodes = nodes if isinstance(nodes, int) else 1
    for at, job in _jobs(effective):
        if mpi and job.get("name") == NODE:
            count = max(nodes - 1, 1) if mpi.get("runLauncherAsNode") else nodes
        elif get(job, ("template", "metadata", "labels", ANCESTOR)) == "trainer" and "mlPolicy" in runtime.manifest.get("spec", {}):
            count = 1 if mpi else nodes
        else:
            continue
        for key in ("parallelism", "completions"):
            effective.set((*_JOBS, at, "template", "spec", key), count, origin)


def _trainer_containers(effective: Traced) -> Iterator[FieldPath]:
    for at, job in _jobs(effective):
        if get(job, ("template", "metadata", "labels", ANCESTOR)) == "trainer":
            for number, container in enumerate(_list(get(job, ("template", "spec", "template", "spec", "containers")))):
                if get(container, ("name",)) == NODE:
                    yield (*_JOBS, at, "template", "spec", "template", "spec", "containers", number)


def _trainer(effective: Traced, at: FieldPath, index: int, trainer: Mapping[str, Any], catalog: Catalog) -> None:
    start: FieldPath = ("spec", "trainer")
    for key in ("image", "command", "args"):
        if key in trainer:
            effective.set((*at, key), trainer[key], (index, (*start, key)))
    resources = trainer.get("resourcesPerNode")
    if isinstance(resources, dict):
        origin = (index, (*start, "resourcesPerNode"))
        if _version(catalog.versions["trainer"]) < (2, 3):
            effective.set((*at, "resources"), resources, origin)
        else:
            effective.merge((*at, "resources"), resources, origin, _RESOURCES, catalog.definitions)
    for number, entry in enumerate(_list(trainer.get("env"))):
        env = _list(get(effective.value, (*at, "env")))
        if not env:
            effective.set((*at, "env"), [], (index, (*start, "env")))
        place = next((i for i, have in enumerate(env) if get(have, ("name",)) == get(entry, ("name",))), len(env))
        effective.set((*at, "env", place), entry, (index, (*start, "env", number)))


def _workload(number: int, index: int, resource: Resource, runtime: int | None, source: Manifest, effective: Traced | None) -> Workload:
    made = Workload(
        index=number,
        object=index,
        kind=resource.kind,
        name=resource.name,
        namespace=resource.namespace,
        runtime=runtime,
        framework=str(get(source, ("metadata", "labels", FRAMEWORK), "")),
        ml_policy=_mapping(get(source, ("spec", "mlPolicy"))),
        pod_group_policy=_mapping(get(source, ("spec", "podGroupPolicy"))),
        effective=effective,
    )
    if effective:
        made.pods = [_pod(at, job) for at, job in _jobs(effective)]
        _mark_tensorflow(made)
    return made


def _pod(at: int, job: Mapping[str, Any]) -> dict[str, Any]:
    spec = _mapping(get(job, ("template", "spec")))
    pod = _mapping(get(spec, ("template", "spec")))
    replicas, parallelism, completions = job.get("replicas", 1), spec.get("parallelism", 1), spec.get("completions")
    together = min(parallelism, completions) if isinstance(completions, int) and isinstance(parallelism, int) else parallelism
    label = get(job, ("template", "metadata", "labels", ANCESTOR))
    return {
        "replicatedJob": at,
        "name": str(job.get("name", "")),
        "count": replicas * together if isinstance(replicas, int) and isinstance(together, int) else 1,
        "trainer": label == "trainer",
        "ancestor": label,
        "tensorflow": False,
        "requests": _asked(pod, "requests"),
        "limits": _asked(pod, "limits"),
    }


def _mark_tensorflow(workload: Workload) -> None:
    """Marks the pods in which TensorFlow's workers run.

    Evidence is the framework label of the runtime, a tensorflow image, tfrun in the command, or a TF_ variable. A
    runtime of another framework is not made TensorFlow by a variable alone. Where the trainer's Job is labelled the
    workers are its pods, else those pods that show evidence themselves.
    """
    assert workload.effective
    own = [_evidence(job) for _, job in _jobs(workload.effective)]
    other = workload.framework not in ("", "tensorflow")
    is_tensorflow = workload.framework == "tensorflow" or any(strong or (weak and not other) for strong, weak in own)
    if not is_tensorflow:
        return
    trainers = [pod["trainer"] for pod in workload.pods]
    seen = [strong or weak for strong, weak in own]
    workers = trainers if any(trainers) else seen if any(seen) else [pod["ancestor"] is None for pod in workload.pods]
    for pod, worker in zip(workload.pods, workers, strict=True):
        pod["tensorflow"] = worker


def _evidence(job: Mapping[str, Any]) -> tuple[bool, bool]:
    """Strong evidence (image, tfrun) and weak evidence (a TF_ variable) that a Job's pods run TensorFlow."""
    strong = weak = False
    for container in _list(get(job, ("template", "spec", "template", "spec", "containers"))):
        words = " ".join(str(word) for key in ("command", "args") for word in _list(get(container, (key,))))
        strong |= bool(_IMAGE.search(str(get(container, ("image",), "")))) or "tfrun" in words
        weak |= any(str(get(entry, ("name",), "")).startswith("TF_") for entry in _list(get(container, ("env",))))
    return strong, weak


def _asked(pod: Mapping[str, Any], which: str) -> dict[str, Decimal]:
    """What one pod asks for as the scheduler counts: containers summed, init containers by their maximum, limits as defaults.

    A restartable init container (a sidecar) runs beside the others and is summed.
    """
    total: dict[str, Decimal] = {}
    largest: dict[str, Decimal] = {}
    for container in _list(pod.get("containers")):
        for name, amount in _amounts(container, which).items():
            total[name] = total.get(name, Decimal(0)) + amount
    for container in _list(pod.get("initContainers")):
        for name, amount in _amounts(container, which).items():
            if get(container, ("restartPolicy",)) == "Always":
                total[name] = total.get(name, Decimal(0)) + amount
            else:
                largest[name] = max(largest.get(name, Decimal(0)), amount)
    return {name: max(total.get(name, Decimal(0)), largest.get(name, Decimal(0))) for name in {*total, *largest}}


def _amounts(container: Any, which: str) -> dict[str, Decimal]:
    asked: dict[str, Any] = {}
    if which == "requests":
        asked.update(_mapping(get(container, ("resources", "limits"))))
    asked.update(_mapping(get(container, ("resources", which))))
    amounts = {}
    for name, value in asked.items():
        try:
            amount = Decimal(parse_quantity(str(value)))  # type: ignore[no-untyped-call]
        except (ValueError, ArithmeticError):
            continue  # the schema says so already
        if abs(amount) < _ABSURD:
            amounts[str(name)] = amount
    return amounts


def _numbers(amounts: Mapping[str, Decimal]) -> dict[str, int | float]:
    return {name: int(amount) if amount == amount.to_integral_value() else float(amount) for name, amount in amounts.items()}


def _jobs(effective: Traced) -> Iterator[tuple[int, dict[str, Any]]]:
    for at, job in enumerate(_list(get(effective.value, _JOBS))):
        if isinstance(job, dict):
            yield at, job


def _job_named(effective: Traced, name: Any) -> int | None:
    return next((at for at, job in _jobs(effective) if job.get("name") == name), None)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
