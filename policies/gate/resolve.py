"""Resolves what will run: each TrainJob over its runtime as the JobSet that Trainer makes of it.

Follows pkg/runtime/core/trainingruntime.go and pkg/runtime/framework/plugins of Trainer 2.1 to 2.3: runtimePatches
(podTemplateOverrides in 2.1) are merged strategically, trainer.image, command, args and env go to the container
`node` of the Job with the ancestor label, resourcesPerNode replaces the runtime's resources up to 2.2 and is merged
from 2.3, numNodes becomes parallelism and completions. tests/oracle holds it against Trainer's own code.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from kubernetes.utils.quantity import parse_quantity

from gate.merge import Origin, Traced
from gate.model import FieldPath, Manifest, Resource, as_list, as_mapping, get
from gate.schemas import Catalog

ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
TRAINER = "trainer"
INITIALIZERS = {"dataset-initializer": "dataset", "model-initializer": "model"}
FRAMEWORK = "trainer.kubeflow.org/framework"
NODE = "node"
RUNTIME_KINDS = ("ClusterTrainingRuntime", "TrainingRuntime")
_TRAINER = "trainer.kubeflow.org"
_JOBSET = "jobset.x-k8s.io"
_POD_TEMPLATE = {"$ref": "#/definitions/io.k8s.api.core.v1.PodTemplateSpec"}
_JOB_TEMPLATE = {"$ref": "#/definitions/io.k8s.api.batch.v1.JobTemplateSpec"}
_RESOURCES = {"$ref": "#/definitions/io.k8s.api.core.v1.ResourceRequirements"}
_IMAGE = re.compile(r"(?:^|[/_.-])tensorflow(?:[:@/_-]|$)")
_SHORT_IMAGE = re.compile(r"(?:^|/)tf2?(?:[-_][^/:@]*)?(?:[:@][^/]*)?$")
_OTHER_FRAMEWORK = re.compile(r"(?:^|[/\s_.:-])(?:(?:py)?torch|torchrun|jax|xgboost|deepspeed|mxnet|mlx|terraform)(?=$|[/\s_.:@-])")
_TFRUN = re.compile(r"(?:^|[\s/])tfrun(?:\.py)?(?:\s|$)")
# What TensorFlow's workers alone read: TF_CPP_ and TF_ENABLE_ONEDNN_OPTS are set for JAX and PyTorch too, TF_VAR_ is Terraform's.
_WORKERS = ("TF_CONFIG", "TF_NUM_", "TF_WORKER_PORT", "TF_DISCOVERY_TIMEOUT")
_VARIABLES = (*_WORKERS, "TF_GRPC_", "TF_GPU_", "TF_FORCE_GPU_", "TF_USE_LEGACY_KERAS", "TF_XLA_FLAGS")
_POLICIES = ("torch", "mpi", "jax", "flux", "xgboost")
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


def resolve(resources: Sequence[Resource], catalog: Catalog) -> list[Workload]:
    """The workloads of a target: TrainJobs, bare JobSets, and runtimes that no TrainJob of the target uses.

    Objects without a spec have none: the schema says what is wrong with them.
    """
    made: list[Workload] = []
    used: set[int] = set()
    runtimes = [(index, each) for index, each in enumerate(resources) if each.group == _TRAINER and each.kind in RUNTIME_KINDS]
    for index, resource in enumerate(resources):
        if "spec" not in resource.manifest:
            continue
        if resource.group == _TRAINER and resource.kind == "TrainJob":
            runtime = _runtime_of(resource, runtimes)
            if runtime is not None and "spec" not in resources[runtime].manifest:
                continue
            if runtime is not None:
                used.add(runtime)
            made.append(_train_job(len(made), index, runtime, resources, catalog))
        elif resource.group == _JOBSET and resource.kind == "JobSet":
            effective = Traced({"metadata": dict(resource.metadata), "spec": as_mapping(resource.manifest.get("spec"))}, (index, ()))
            made.append(_workload(len(made), index, resource, None, resource.manifest, effective))
    for index, resource in runtimes:
        if index not in used and "spec" in resource.manifest:
            effective = _template(index, resource.manifest)
            _set_counts(effective, index, resource.manifest)
            made.append(_workload(len(made), index, resource, index, resource.manifest, effective))
    overheads = {
        each.name: as_mapping(get(each.manifest, ("overhead", "podFixed")))
        for each in resources
        if each.group == "node.k8s.io" and each.kind == "RuntimeClass"
    }
    for workload in made:
        if workload.effective:
            workload.pods = [_pod(at, job, overheads) for at, job in jobs(workload.effective)]
            _mark_tensorflow(workload)
    return made


def _runtime_of(job: Resource, runtimes: Sequence[tuple[int, Resource]]) -> int | None:
    """The index of the runtime that a TrainJob names (runtimeRef defaults: kind ClusterTrainingRuntime)."""
    reference = as_mapping(get(job.manifest, ("spec", "runtimeRef")))
    kind = reference.get("kind", "ClusterTrainingRuntime")
    for index, other in runtimes:
        named = other.kind == kind and other.name == reference.get("name")
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
    trainer = as_mapping(get(job.manifest, ("spec", "trainer")))
    _set_counts(effective, runtime, manifest, trainer.get("numNodes"), (index, ("spec", "trainer", "numNodes")))
    _initializers(effective, index, job.manifest)
    _trainer(effective, index, trainer, get(manifest, ("spec", "mlPolicy")), catalog)
    return _workload(number, index, job, runtime, manifest, effective)


def _template(index: int, runtime: Manifest) -> Traced:
    template = as_mapping(get(runtime, ("spec", "template")))
    return Traced({"metadata": _labels(template), "spec": as_mapping(template.get("spec"))}, (index, ("spec", "template")))


def _labels(template: Any) -> dict[str, Any]:
    """Labels and annotations of a template or patch: nothing else of its metadata reaches the JobSet's own."""
    return {key: value for key, value in as_mapping(get(template, ("metadata",))).items() if key in ("labels", "annotations")}


def _patches(effective: Traced, index: int, job: Manifest, catalog: Catalog) -> None:
    """runtimePatches of 2.2 and later; podTemplateOverrides, spec.labels and spec.annotations of 2.1."""
    definitions = catalog.definitions
    for number, patch in enumerate(as_list(get(job, ("spec", "runtimePatches")))):
        start: FieldPath = ("spec", "runtimePatches", number, "trainingRuntimeSpec", "template")
        template = as_mapping(get(patch, ("trainingRuntimeSpec", "template")))
        effective.merge(("metadata",), _labels(template), (index, (*start, "metadata")), {}, definitions)
        for entry, job_patch in enumerate(as_list(get(template, ("spec", "replicatedJobs")))):
            at = _job_named(effective, get(job_patch, ("name",)))
            if at is not None:
                origin = (index, (*start, "spec", "replicatedJobs", entry, "template"))
                effective.merge((*_JOBS, at, "template"), as_mapping(job_patch.get("template")), origin, _JOB_TEMPLATE, definitions)
    for key in ("labels", "annotations"):
        values = get(job, ("spec", key))
        if isinstance(values, dict):
            effective.merge(("metadata", key), values, (index, ("spec", key)), {}, definitions)
    for number, override in enumerate(as_list(get(job, ("spec", "podTemplateOverrides")))):
        start = ("spec", "podTemplateOverrides", number)
        for target in as_list(get(override, ("targetJobs",))):
            at = _job_named(effective, get(target, ("name",)))
            if at is not None:
                patched = {"metadata": _labels(override), "spec": as_mapping(get(override, ("spec",)))}
                effective.merge((*_JOBS, at, "template", "spec", "template"), patched, (index, start), _POD_TEMPLATE, definitions)


def _set_counts(effective: Traced, index: int, runtime: Manifest, wanted: Any = None, asked: Origin = (0, ())) -> None:
    """Parallelism and completions of every Job, and one replica of those that Trainer fills in.

    The policy's numNodes counts in every Job of the trainer, the TrainJob's (`wanted`, from `asked`) in the first of
    them, or under MPI in the Job `node`. Any other Job keeps its parallelism, and its completions follow.
    """
    policy = get(runtime, ("spec", "mlPolicy"))
    mpi = get(policy, ("mpi",))
    taken = not isinstance(wanted, int)
    for at, job in jobs(effective):
        path: FieldPath = (*_JOBS, at, "template", "spec")
        label = _ancestor(job)
        count, origin = get(job, ("template", "spec", "parallelism")), effective.origin((*path, "parallelism"))
        if label == TRAINER and isinstance(policy, dict):
            count, origin = policy.get("numNodes"), (index, ("spec", "mlPolicy", "numNodes"))
        count = max(count, 1) if isinstance(count, int) else 1
        if not taken and (job.get("name") == NODE if isinstance(mpi, dict) else label == TRAINER):
            count, origin, taken = (max(wanted - 1, 1) if get(mpi, ("runLauncherAsNode",)) else wanted), asked, True
        for key in ("parallelism", "completions"):
            effective.set((*path, key), count, origin)
        if label in (TRAINER, *INITIALIZERS):
            effective.set((*_JOBS, at, "replicas"), 1, effective.origin((*_JOBS, at, "replicas")))


def _initializers(effective: Traced, index: int, job: Manifest) -> None:
    """spec.initializer: environment of the containers that bear the name of their Job's label."""
    for at, replicated in jobs(effective):
        label = _ancestor(replicated)
        start: FieldPath = ("spec", "initializer", INITIALIZERS.get(label or "", ""))
        given = get(job, start)
        if label is None or not isinstance(given, dict):
            continue
        for path in _containers(at, replicated, label):
            if given.get("storageUri") is not None:
                _set_env(effective, path, {"name": "STORAGE_URI", "value": given["storageUri"]}, (index, (*start, "storageUri")))
            for number, entry in enumerate(as_list(given.get("env"))):
                _set_env(effective, path, entry, (index, (*start, "env", number)))
            if isinstance(given.get("secretRef"), dict):
                sources = as_list(get(effective.value, (*path, "envFrom")))
                if not sources:
                    effective.set((*path, "envFrom"), [], (index, start))
                effective.set((*path, "envFrom", len(sources)), {"secretRef": given["secretRef"]}, (index, start))


def _trainer(effective: Traced, index: int, trainer: Mapping[str, Any], policy: Any, catalog: Catalog) -> None:
    """spec.trainer in the container `node` of the trainer's Jobs; where MPI's launcher is a node, resources and env in the Job `node`."""
    start: FieldPath = ("spec", "trainer")
    launcher_too = bool(get(policy, ("mpi", "runLauncherAsNode")))
    for at, job in jobs(effective):
        labelled = _ancestor(job) == TRAINER
        if not labelled and not (launcher_too and job.get("name") == NODE):
            continue
        for path in _containers(at, job, NODE):
            for key in ("image", "command", "args"):
                if labelled and trainer.get(key) is not None:
                    effective.set((*path, key), trainer[key], (index, (*start, key)))
            if isinstance(trainer.get("resourcesPerNode"), dict):
                _resources(effective, (*path, "resources"), index, trainer["resourcesPerNode"], policy, catalog)
            for number, entry in enumerate(as_list(trainer.get("env"))):
                _set_env(effective, path, entry, (index, (*start, "env", number)))


def _resources(effective: Traced, path: FieldPath, index: int, given: Mapping[str, Any], policy: Any, catalog: Catalog) -> None:
    """resourcesPerNode: replaces up to 2.2; from 2.3 merged, and only where the runtime has an mlPolicy. Claims are dropped."""
    origin = (index, ("spec", "trainer", "resourcesPerNode"))
    asked = {key: value for key, value in given.items() if key in ("limits", "requests") and isinstance(value, dict)}
    if _version(catalog.versions["trainer"]) < (2, 3):
        if asked:
            effective.set(path, asked, origin)
    elif isinstance(policy, dict):
        effective.merge(path, asked, origin, _RESOURCES, catalog.definitions)
        get(effective.value, path).pop("claims", None)


def _set_env(effective: Traced, container: FieldPath, entry: Any, origin: Origin) -> None:
    """Sets a variable in the place of the one of its name, else behind the others."""
    env = as_list(get(effective.value, (*container, "env")))
    if not env:
        effective.set((*container, "env"), [], (origin[0], origin[1][:-1]))
    place = next((i for i, have in enumerate(env) if get(have, ("name",)) == get(entry, ("name",))), len(env))
    effective.set((*container, "env", place), entry, origin)


def _containers(at: int, job: Mapping[str, Any], name: str) -> Iterator[FieldPath]:
    for number, container in enumerate(as_list(get(job, ("template", "spec", "template", "spec", "containers")))):
        if get(container, ("name",)) == name:
            yield (*_JOBS, at, "template", "spec", "template", "spec", "containers", number)


def _ancestor(job: Mapping[str, Any]) -> str | None:
    label = get(job, ("template", "metadata", "labels", ANCESTOR))
    return label if isinstance(label, str) else None


def _workload(number: int, index: int, resource: Resource, runtime: int | None, source: Manifest, effective: Traced | None) -> Workload:
    return Workload(
        index=number,
        object=index,
        kind=resource.kind,
        name=resource.name,
        namespace=resource.namespace,
        runtime=runtime,
        framework=str(get(source, ("metadata", "labels", FRAMEWORK), "")),
        ml_policy=as_mapping(get(source, ("spec", "mlPolicy"))),
        pod_group_policy=as_mapping(get(source, ("spec", "podGroupPolicy"))),
        effective=effective,
    )


def _pod(at: int, job: Mapping[str, Any], overheads: Mapping[str, Any]) -> dict[str, Any]:
    """The pods of a Job, with the overhead that the API server and Kueue take from their runtime class."""
    spec = as_mapping(get(job, ("template", "spec")))
    pod = as_mapping(get(spec, ("template", "spec")))
    pod = {"overhead": overheads.get(str(pod.get("runtimeClassName"))), **pod}
    replicas, parallelism, completions = job.get("replicas", 1), spec.get("parallelism", 1), spec.get("completions")
    together = min(parallelism, completions) if isinstance(completions, int) and isinstance(parallelism, int) else parallelism
    label = _ancestor(job)
    return {
        "replicatedJob": at,
        "name": str(job.get("name", "")),
        "count": replicas * together if isinstance(replicas, int) and isinstance(together, int) else 1,
        "trainer": label == TRAINER,
        "ancestor": label,
        "tensorflow": False,
        "requests": asked(pod, "requests"),
        "limits": asked(pod, "limits"),
    }


def _mark_tensorflow(workload: Workload) -> None:
    """Marks the pods in which TensorFlow's workers run.

    Evidence is the framework label of the runtime, a tensorflow image, tfrun in the command, or, where nothing speaks
    for another framework, a variable of TensorFlow's or an image called tf. Where the trainer's Job is labelled the
    workers are its pods and those that tfrun starts beside them, else those pods that show evidence themselves and do not
    only run before the others.
    """
    assert workload.effective
    own_jobs = [job for _, job in jobs(workload.effective)]
    own = [_evidence(job) for job in own_jobs]
    other = workload.framework not in ("", "tensorflow") or any(policy in workload.ml_policy for policy in _POLICIES)
    is_tensorflow = workload.framework == "tensorflow" or any(strong or (weak and not other) for strong, weak in own)
    if not is_tensorflow:
        return
    trainers = [pod["trainer"] for pod in workload.pods]
    first = {
        get(before, ("name",)) for job in own_jobs for before in as_list(job.get("dependsOn")) if get(before, ("status",)) == "Complete"
    }
    seen = [strong or weak for strong, weak in own]
    seen = [each and job.get("name") not in first for each, job in zip(seen, own_jobs, strict=True)] if first else seen
    joins = [not pod["ancestor"] and job.get("name") not in first and _joins(job) for pod, job in zip(workload.pods, own_jobs, strict=True)]
    trainers = [one or other for one, other in zip(trainers, joins, strict=True)] if any(trainers) else trainers
    workers = trainers if any(trainers) else seen if any(seen) else [pod["ancestor"] is None for pod in workload.pods]
    for pod, worker in zip(workload.pods, workers, strict=True):
        pod["tensorflow"] = worker


def _evidence(job: Mapping[str, Any]) -> tuple[bool, bool]:
    """Strong evidence (image, tfrun) and weak evidence (a variable, a short image name) that a Job's pods run TensorFlow.

    The container `node` decides where there is one; TensorBoard beside the training of another framework says nothing.
    """
    strong = weak = False
    for container in _training(job):
        command = words(container)
        image = str(get(container, ("image",), ""))
        if "tensorboard" in command.partition(" ")[0] or "tensorboard" in str(get(container, ("name",), "")):
            continue
        strong |= bool(_IMAGE.search(image) or _TFRUN.search(command))
        if not _OTHER_FRAMEWORK.search(f"{image} {command}"):
            names = [str(get(entry, ("name",), "")) for entry in as_list(get(container, ("env",)))]
            weak |= bool(_SHORT_IMAGE.search(image)) or any(name.startswith(_VARIABLES) for name in names)
    return strong, weak


def _joins(job: Mapping[str, Any]) -> bool:
    """Whether tfrun starts a Job's pods, and not one by one: TF_NUM_WORKERS=1 says so, and so may one from elsewhere."""
    for container in _training(job):
        given = [get(entry, ("value",)) for entry in as_list(get(container, ("env",))) if get(entry, ("name",)) == "TF_NUM_WORKERS"]
        if _TFRUN.search(words(container)) and not any(value in (None, "1") for value in given):
            return True
    return False


def _training(job: Mapping[str, Any]) -> list[Any]:
    """The containers that a Job's pods are there for: `node`, or all where there is none."""
    containers = as_list(get(job, ("template", "spec", "template", "spec", "containers")))
    return [each for each in containers if get(each, ("name",)) == NODE] or containers


def words(container: Any) -> str:
    return " ".join(str(word) for key in ("command", "args") for word in as_list(get(container, (key,))))


def asked(pod: Mapping[str, Any], which: str) -> dict[str, Decimal]:
    """What one pod asks for as the scheduler counts: containers summed, init containers by their maximum, limits as defaults.

    A restartable init container (a sidecar) runs beside the others and beside the init containers after it. What the
    pod itself states counts instead, where a pod can state it, and the overhead of its runtime class comes on top.
    """
    total: dict[str, Decimal] = {}
    largest: dict[str, Decimal] = {}
    sidecars: dict[str, Decimal] = {}
    for container in as_list(pod.get("containers")):
        total = _sum(total, _amounts(container, which))
    for container in as_list(pod.get("initContainers")):
        amounts = _amounts(container, which)
        during = _sum(sidecars, amounts)
        if get(container, ("restartPolicy",)) == "Always":
            total, sidecars = _sum(total, amounts), during
        largest = {name: max(largest.get(name, Decimal(0)), during.get(name, Decimal(0))) for name in {*largest, *during}}
    asked = {name: max(total.get(name, Decimal(0)), largest.get(name, Decimal(0))) for name in {*total, *largest}}
    stated = as_mapping(get(pod, ("resources", which)))
    for name, amount in _amounts(pod, which).items():
        if (name in stated or name not in asked) and (name in ("cpu", "memory") or name.startswith("hugepages-")):
            asked[name] = amount
    overhead = _amounts({"resources": {which: pod.get("overhead")}}, which)
    return _sum(asked, {name: amount for name, amount in overhead.items() if which == "requests" or name in asked})


def _sum(one: Mapping[str, Decimal], other: Mapping[str, Decimal]) -> dict[str, Decimal]:
    return {name: one.get(name, Decimal(0)) + other.get(name, Decimal(0)) for name in {*one, *other}}


def _amounts(container: Any, which: str) -> dict[str, Decimal]:
    asked: dict[str, Any] = {}
    if which == "requests":
        asked.update(as_mapping(get(container, ("resources", "limits"))))
    asked.update(as_mapping(get(container, ("resources", which))))
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


def jobs(effective: Traced) -> Iterator[tuple[int, dict[str, Any]]]:
    for at, job in enumerate(as_list(get(effective.value, _JOBS))):
        if isinstance(job, dict):
            yield at, job


def _job_named(effective: Traced, name: Any) -> int | None:
    return next((at for at, job in jobs(effective) if job.get("name") == name), None)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))
