"""The chain of a run's objects: TrainJob (if there is one), its queue, JobSet, Jobs, pods, each with its state in a few words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from gate.model import Manifest, get
from gate.why.snapshot import Snapshot, condition, name, owned, phase, statuses

_PODS = 8  # shown one by one


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One object; `depth` counts from 0, `age` is empty where the object is not there."""

    depth: int
    kind: str
    name: str
    state: str
    age: str


def rows(run: Snapshot) -> Iterator[Row]:
    """The chain from what somebody made inwards."""

    def row(depth: int, found: Manifest | None, kind: str, called: str, state: str) -> Row:
        return Row(depth=depth, kind=kind, name=called, state=state if found else "not there", age=run.age(found) if found else "")

    if run.is_trainjob:
        yield row(0, run.root, "TrainJob", run.name, _trainjob(run.root))
        yield row(1, run.runtime, run.runtime_kind, run.runtime_name, "there")
    else:
        yield row(0, run.root, "JobSet", run.name, _jobset(run.jobset))
    if run.queue or run.workload:
        yield row(1, run.workload, "Workload", name(run.workload), _workload(run.workload))
        local, cluster = run.local_queue, run.cluster_queue
        yield row(2, local, "LocalQueue", run.queue, _active(local))
        if local:
            yield row(3, cluster, "ClusterQueue", str(get(local, ("spec", "clusterQueue"))), _active(cluster))
    if group := run.podgroup:
        called = str(get(group, ("spec", "queue"), "default"))
        queue = run.one("Queue", called)
        yield row(1, group, "PodGroup", run.name, str(get(group, ("status", "phase"), "not looked at")))
        yield row(2, queue, "Queue", called, str(get(queue, ("status", "state"), "Open")))
    if run.is_trainjob:
        yield row(1, run.jobset, "JobSet", run.name, _jobset(run.jobset))
    below = 2 if run.is_trainjob else 1
    for job in run.jobs:
        yield row(below, job, "Job", name(job), _job(job))
        pods = [pod for pod in run.pods if owned(pod, job)]
        shown = sorted(pods, key=lambda pod: phase(pod) in ("Running", "Succeeded"))[:_PODS]
        for pod in [pod for pod in pods if pod in shown]:
            yield row(below + 1, pod, "Pod", name(pod), _pod(pod))
        if rest := Counter(phase(pod) for pod in pods if pod not in shown):
            yield Row(
                depth=below + 1,
                kind="Pod",
                name=f"and {rest.total()} more",
                state=", ".join(f"{count} {each}" for each, count in rest.items()),
                age="",
            )


def _true(manifest: Manifest | None, *kinds: str) -> str:
    return next((kind for kind in kinds if condition(manifest, kind)), "")


def _trainjob(job: Manifest) -> str:
    return _true(job, "Complete", "Failed", "Suspended") or ("suspended" if get(job, ("spec", "suspend")) else "started")


def _workload(workload: Manifest | None) -> str:
    waits = condition(workload, "QuotaReserved", "False") or {}
    inactive = "deactivated" if get(workload, ("spec", "active")) is False else ""
    return inactive or _true(workload, "Finished", "Admitted", "QuotaReserved") or f"waits ({waits.get('reason', 'not looked at')})"


def _active(queue: Manifest | None) -> str:
    inactive = condition(queue, "Active", "False")
    return f"inactive ({inactive.get('reason')})" if inactive else "active"


def _jobset(jobset: Manifest | None) -> str:
    restarts = get(jobset, ("status", "restarts"), 0)
    most = get(jobset, ("spec", "failurePolicy", "maxRestarts"), 0)
    state = _true(jobset, "Completed", "Failed", "Suspended", "StartupPolicyInProgress") or "started"
    return f"{state}, {restarts} of {most} restarts" if restarts else state


def _job(job: Manifest) -> str:
    state = _true(job, "Complete", "Failed", "Suspended")
    counts = [f"{get(job, ('status', key))} {key}" for key in ("active", "ready", "succeeded", "failed") if get(job, ("status", key))]
    return ", ".join(each for each in (state, *counts) if each) or "no pods"


def _pod(pod: Manifest) -> str:
    said = [phase(pod)]
    for each in statuses(pod):
        state = each.get("state") or {}
        if waiting := state.get("waiting"):
            said.append(str(waiting.get("reason")))
        elif (ended := state.get("terminated")) and ended.get("exitCode"):
            said.append(f"{ended.get('reason')}, status {ended.get('exitCode')}")
        if each.get("restartCount"):
            said.append(f"{each['restartCount']} restarts")
    if get(pod, ("metadata", "deletionTimestamp")):
        said.append("being deleted")
    node = get(pod, ("spec", "nodeName"))
    return ", ".join(said) + (f" on {node}" if node else ", no node")
