"""From a live cluster to snapshots: what is read about TrainJobs, and what could not be."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from gate.model import GateError, Manifest, get
from gate.why import snapshot
from gate.why.cluster import KINDS, Cluster, Kind, Unreadable
from gate.why.snapshot import JOBSET_NAME, Log, Snapshot, condition, index, name, phase

_LINES = 40  # of each log
_LOGS = 6  # pods of a run whose logs are read: those that failed, the first ones first, then worker 0 and the next; of several runs fewer
_LOGS_OF_MANY = 2
_CONTROLLERS = (
    "app.kubernetes.io/name in (trainer,kubeflow-trainer,jobset,kueue)",
    "app in (volcano-scheduler,volcano-controller)",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Reader:
    """Reads lists and keeps account of what was refused."""

    cluster: Cluster
    unread: list[str] = field(default_factory=list)

    def read(self, kind: str, namespace: str | None = None, labels: str = "") -> list[Manifest]:
        wanted = KINDS[kind]
        try:
            return self.cluster.objects(wanted, namespace, labels)
        except Unreadable as error:
            self._note(wanted, namespace, error)
            return []

    def everywhere(self, kind: str, namespace: str | None) -> list[Manifest]:
        """Of all namespaces, or of this one where the others are forbidden."""
        wanted = KINDS[kind]
        try:
            return self.cluster.objects(wanted)
        except Unreadable as error:
            self._note(wanted, None, error, "other" if namespace else "all")
            return self.read(kind, namespace) if namespace else []

    def _note(self, kind: Kind, namespace: str | None, error: Unreadable, which: str = "all") -> None:
        where = f" of namespace {namespace}" if namespace and kind.namespaced else f" of {which} namespaces" if kind.namespaced else ""
        said = f"could not read {kind.plural}{where}: {error}"
        if said not in self.unread:
            self.unread.append(said)


def one(cluster: Cluster, namespace: str, called: str) -> Snapshot:
    """Everything about one TrainJob, or else the JobSet of that name. Raises GateError where there is neither, with names that are near."""
    job = None
    for kind in ("TrainJob", "JobSet"):
        try:
            job = job or cluster.object(KINDS[kind], called, namespace)
        except Unreadable as error:
            raise GateError(f"could not read {kind} {namespace}/{called}: {error}") from error
    if job is None:
        _ask_for_trainer(cluster)
        raise GateError(_unknown(cluster, namespace, called))
    return _snapshots(cluster, [job], namespace)[0]


def unfinished(cluster: Cluster, namespace: str | None) -> list[Snapshot]:
    """All TrainJobs that are not Complete, of one namespace or of all. Raises GateError where they cannot be listed."""
    _ask_for_trainer(cluster)
    try:
        found = cluster.objects(KINDS["TrainJob"], namespace)
    except Unreadable as error:
        where = f"namespace {namespace}" if namespace else "all namespaces"
        hint = "" if namespace else f"; name one you may read: gate why {cluster.namespace}/"
        raise GateError(f"could not list the TrainJobs of {where}: {error}{hint}") from error
    return _snapshots(cluster, [each for each in found if not condition(each, "Complete")], namespace)


def _ask_for_trainer(cluster: Cluster) -> None:
    if not cluster.knows("trainer.kubeflow.org"):
        raise GateError(f"{cluster.api.configuration.host} has no Kubeflow Trainer (no API group trainer.kubeflow.org)")


def _unknown(cluster: Cluster, namespace: str, called: str) -> str:
    """Which TrainJob may have been meant."""
    try:
        known = cluster.objects(KINDS["TrainJob"])
    except Unreadable:
        try:
            known = cluster.objects(KINDS["TrainJob"], namespace)
        except Unreadable:
            known = []
    places = [(str(get(each, ("metadata", "namespace"), "")), name(each)) for each in known]
    same = [f"{place}/{each}" for place, each in places if each == called]
    near = difflib.get_close_matches(called, [each for place, each in places if place == namespace], n=3, cutoff=0.6)
    meant = same or [f"{namespace}/{each}" for each in near]
    others = f"; did you mean {', '.join(meant)}?" if meant else "; `gate why` lists those that are not complete"
    return f"there is no TrainJob {called} in namespace {namespace}{others}"


def _snapshots(cluster: Cluster, jobs: Sequence[Manifest], namespace: str | None) -> list[Snapshot]:
    if not jobs:
        return []
    reader = _Reader(cluster=cluster)
    labels = f"{JOBSET_NAME}={name(jobs[0])}" if len(jobs) == 1 else JOBSET_NAME
    ours: list[Manifest] = []
    for kind in ("ClusterTrainingRuntime", "TrainingRuntime", "LocalQueue", "ClusterQueue", "PodGroup", "Queue", "JobSet"):
        ours += reader.read(kind, namespace)
    ours += reader.everywhere("Workload", namespace)
    for kind in ("Job", "Pod"):
        ours += reader.read(kind, namespace, labels)
    ours += reader.read("Event", namespace)
    if any(not _settled(job, ours) for job in jobs):
        for kind in ("Node", "NetworkPolicy", "WorkloadPriorityClass"):
            ours += reader.read(kind, namespace)
        for controllers in _CONTROLLERS:
            ours += reader.read("Deployment", None, controllers)
    groups = sorted(group for group in {kind.group for kind in KINDS.values()} if group and cluster.knows(group))
    now = datetime.now(UTC).replace(microsecond=0)
    found = []
    for job in jobs:
        mine = _made_of(job, ours)
        run = Snapshot(
            now=now,
            namespace=str(job["metadata"]["namespace"]),
            name=name(job),
            objects=[_lean(each) for each in [job, *ours] if each is job or (_concerns(each, job, mine) and not _same(each, job))],
            groups=groups,
        )
        logs = _logs(reader, run, _LOGS if len(jobs) == 1 else _LOGS_OF_MANY)
        found.append(replace(run, logs=logs, unread=tuple(reader.unread)))
    return found


def _settled(job: Manifest, objects: Sequence[Manifest]) -> bool:
    """Whether it has ended or all its pods run: then nodes, policies and controllers are not asked for."""
    if condition(job, "Complete") or condition(job, "Failed"):
        return True
    pods = [each for each in objects if each["kind"] == "Pod" and snapshot.label(each, JOBSET_NAME) == name(job)]
    return bool(pods) and all(condition(pod, "Ready") for pod in pods)


def _made_of(job: Manifest, objects: Sequence[Manifest]) -> tuple[set[str], tuple[str, ...]]:
    """The uids of what is there of a run, and how the names of its Jobs and pods begin, also of those of earlier attempts."""
    run = name(job)
    ours = [each for each in objects if run in (name(each), snapshot.label(each, JOBSET_NAME)) or snapshot.owned(each, job)]
    runtimes = [
        each for each in objects if each["kind"].endswith("TrainingRuntime") and name(each) == get(job, ("spec", "runtimeRef", "name"))
    ]
    parts = [part for each in runtimes for part in get(each, ("spec", "template", "spec", "replicatedJobs"), [])]
    parts += [part for each in ours if each["kind"] == "JobSet" for part in get(each, ("spec", "replicatedJobs"), [])]
    return {each["metadata"]["uid"] for each in ours}, tuple({f"{run}-{part.get('name')}-" for part in parts})


def _concerns(each: Manifest, job: Manifest, mine: tuple[set[str], tuple[str, ...]]) -> bool:
    """Whether an object belongs to the run of a TrainJob, or may hold it up."""
    kind, called, place = each.get("kind"), name(each), get(each, ("metadata", "namespace"))
    run, home = name(job), get(job, ("metadata", "namespace"))
    if kind == "TrainJob":
        return each is job
    if kind in ("TrainingRuntime", "ClusterTrainingRuntime"):
        return called == get(job, ("spec", "runtimeRef", "name")) and place in (None, home)
    if kind in ("Workload", "ClusterQueue", "Queue", "Deployment", "Node", "WorkloadPriorityClass"):
        return True
    if place != home:
        return False
    if kind == "JobSet":
        return called == run
    if kind in ("Job", "Pod"):
        return snapshot.label(each, JOBSET_NAME) == run
    if kind == "Event":
        about = str(get(each, ("involvedObject", "name"), ""))
        uids, prefixes = mine
        recent = snapshot.seen(each) >= snapshot.created(job)  # an earlier run may have had the name
        return recent and (about == run or get(each, ("involvedObject", "uid")) in uids or about.startswith(prefixes))
    return True


def _same(one: Manifest, other: Manifest) -> bool:
    return bool(get(one, ("metadata", "uid")) == get(other, ("metadata", "uid")))


def _lean(manifest: Manifest) -> Manifest:
    """An object without the book-keeping of who wrote which field."""
    metadata = manifest.get("metadata") or {}
    return {**manifest, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


def _logs(reader: _Reader, run: Snapshot, pods: int) -> list[Log]:
    """The ends of the logs that say most: of those that failed, of worker 0, of the next ones."""
    begun = [
        pod
        for pod in run.pods
        if any(
            get(each, ("state", "running")) or get(each, ("state", "terminated")) or each.get("restartCount")
            for each in snapshot.statuses(pod)
        )
    ]

    def when(pod: Manifest) -> str:
        return min((str(get(each, ("state", "terminated", "finishedAt"), "")) for each in snapshot.statuses(pod)), default="")

    logs = []
    for pod in sorted(begun, key=lambda pod: (phase(pod) != "Failed", when(pod), index(pod)))[:pods]:
        for status in get(pod, ("status", "containerStatuses"), []) or []:
            lives = [False] if get(status, ("state", "running")) or get(status, ("state", "terminated")) else []
            for previous in [*lives, *([True] if status.get("restartCount") else [])]:
                try:
                    text = reader.cluster.log(run.namespace, name(pod), str(status["name"]), previous=previous, lines=_LINES)
                except Unreadable as error:
                    if error.status == 404:  # the pod has gone in the meantime
                        continue
                    said = f"could not read the log of {name(pod)}: {error}"
                    if said not in reader.unread:
                        reader.unread.append(said)
                    continue
                logs.append(Log(pod=name(pod), container=str(status["name"]), previous=previous, text=text))
    return logs
