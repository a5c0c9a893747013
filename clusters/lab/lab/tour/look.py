"""What there is of the tour in a cluster, read with nothing but get and list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from gate.model import GateError, Manifest, get
from gate.resolve import asked
from gate.why.cluster import KINDS, Cluster, Kind, Unreadable
from gate.why.snapshot import attempt, condition, label, name, owned, phase

NAMESPACE = "ml"
GPU = "nvidia.com/gpu"
QUEUE = "kueue.x-k8s.io/queue-name"
ROLE = "jobset.sigs.k8s.io/replicatedjob-name"
INDEX = "batch.kubernetes.io/job-completion-index"
JOBSET = "jobset.sigs.k8s.io/jobset-name"
_NAMESPACES = Kind(kind="Namespace", group="", plural="namespaces", namespaced=False)


@dataclass(frozen=True, slots=True)
class Look:
    """The namespace as it is now: every kind is read at most once."""

    cluster: Cluster
    _read: dict[str, list[Manifest]] = field(default_factory=dict)

    def all(self, kind: str, *, everywhere: bool = False) -> list[Manifest]:
        """The objects of a kind; those of the tour's namespace, where the kind has namespaces. Raises GateError."""
        key = f"{kind} everywhere" if everywhere else kind
        if key not in self._read:
            wanted = _NAMESPACES if kind == "Namespace" else KINDS[kind]
            try:
                self._read[key] = self.cluster.objects(wanted, None if everywhere else NAMESPACE)
            except Unreadable as error:
                raise GateError(f"could not read {wanted.plural}: {error}") from error
        return self._read[key]

    def one(self, kind: str, called: str) -> Manifest | None:
        return next((each for each in self.all(kind) if name(each) == called), None)

    def pods(self, jobset: str, role: str | None = None) -> list[Manifest]:
        """A JobSet's pods that are not going away, by completion index."""
        found = [
            each
            for each in self.all("Pod")
            if label(each, JOBSET) == jobset and role in (None, label(each, ROLE)) and not get(each, ("metadata", "deletionTimestamp"))
        ]
        return sorted(found, key=lambda each: (label(each, ROLE), label(each, INDEX)))

    def workload(self, owner: Manifest) -> Manifest | None:
        """Kueue's Workload of a JobSet or TrainJob."""
        return next((each for each in self.all("Workload") if owned(each, owner)), None)

    def jobs(self, jobset: str) -> list[Manifest]:
        return [each for each in self.all("Job") if label(each, JOBSET) == jobset]


def admitted(workload: Manifest | None) -> bool:
    return condition(workload, "Admitted") is not None


def held(workload: Manifest | None) -> str:
    """What Kueue says of a Workload without quota; nothing where it says nothing."""
    return " ".join(str(get(condition(workload, "QuotaReserved", "False"), ("message",), "")).split())


def running(pods: Sequence[Manifest]) -> int:
    return sum(phase(each) == "Running" for each in pods)


def attempts(pods: Sequence[Manifest]) -> set[int]:
    return {attempt(each) for each in pods}


def roles(jobset: Manifest) -> dict[str, tuple[int, int]]:
    """By the name of a replicatedJob: how many Jobs, and how many pods each of them."""
    found = {}
    for each in get(jobset, ("spec", "replicatedJobs"), []) or []:
        spec = get(each, ("template", "spec"), {}) or {}
        found[str(each.get("name"))] = (int(each.get("replicas", 1)), int(spec.get("parallelism", 1) or 1))
    return found


def shape(jobset: Manifest, wanted: Mapping[str, int], gpus: int = 0) -> Iterator[str]:
    """How a JobSet differs from one Job a role with so many pods, each with so many GPUs."""
    called, found = name(jobset), roles(jobset)
    for role, pods in wanted.items():
        if role not in found:
            yield f"{called} has no replicatedJob {role} (it has: {', '.join(found) or 'none'})"
        elif found[role] != (1, pods):
            jobs, each = found[role]
            yield (
                f"{called}: {role} is {_count(jobs, 'Job')} of {_count(each, 'pod')}, and shall be 1 Job of {_count(pods, 'pod')}: "
                f"replicas 1, parallelism and completions {pods}"
            )
    for more in sorted(found.keys() - wanted.keys()):
        yield f"{called} has a replicatedJob {more} that is not asked for"
    for role in get(jobset, ("spec", "replicatedJobs"), []) or []:
        spec = get(role, ("template", "spec", "template", "spec"), {}) or {}
        if role.get("name") in wanted and (has := asked(spec, "limits").get(GPU, Decimal(0))) != gpus:
            yield f"{called}: a pod of {role['name']} asks for {has} {GPU}, and shall ask for {gpus}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def free_gpus(look: Look) -> tuple[int, int, list[str]]:
    """GPUs of the nodes that are ready, those of them that no pod has, and who has the others."""
    nodes = {name(each): each for each in look.all("Node") if condition(each, "Ready") and not get(each, ("spec", "unschedulable"))}
    total = sum((_amount(get(each, ("status", "allocatable", GPU), 0)) for each in nodes.values()), 0)
    taken: dict[str, int] = {}
    for pod in look.all("Pod", everywhere=True):
        amount = int(asked(get(pod, ("spec",), {}), "requests").get(GPU, 0))
        if amount and get(pod, ("spec", "nodeName")) in nodes and phase(pod) in ("Pending", "Running"):
            owner = label(pod, JOBSET) or name(pod)
            key = f"{get(pod, ('metadata', 'namespace'))}/{owner}"
            taken[key] = taken.get(key, 0) + amount
    return total, total - sum(taken.values()), [f"{key} has {amount}" for key, amount in sorted(taken.items())]


def _amount(value: object) -> int:
    return int(str(value)) if str(value).isdecimal() else 0
