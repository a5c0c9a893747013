"""Volcano: why a gang is not scheduled."""

from __future__ import annotations

import re
from decimal import Decimal

from gate.model import Manifest, get
from gate.resolve import asked
from gate.why.causes import Cause, Seen, cause, down, few
from gate.why.snapshot import Snapshot, name, phase

_PATIENCE = 60  # seconds that the scheduler is given


def amounts(resources: object) -> dict[str, Decimal]:
    """Quantities as numbers, by resource."""
    return asked({"containers": [{"resources": {"requests": resources}}]}, "requests")


def _said(run: Snapshot) -> tuple[str, ...]:
    events = run.events(run.podgroup, "Unschedulable")
    latest = {str(each.get("message")).split(":")[0]: each for each in reversed(events)}
    return tuple(f"PodGroup {run.name}: Unschedulable: {each.get('message')}" for each in latest.values())


def _queue(run: Snapshot) -> Manifest | None:
    return run.one("Queue", str(get(run.podgroup, ("spec", "queue"), "default")))


def _held_up(run: Snapshot) -> bool:
    return run.podgroup is not None and any(phase(pod) == "Pending" for pod in run.pods)


def _kept_out(run: Snapshot, pattern: str) -> re.Match[str] | None:
    """Volcano's words by which it does not let a gang in, if they are these."""
    if not _held_up(run) or get(run.podgroup, ("status", "phase")) not in (None, "Pending"):
        return None
    return next((found for each in _said(run) if (found := re.search(pattern, each))), None)


@cause("volcano/scheduler-name", "stuck", rule="queue/volcano-scheduler-name")
def scheduler_name(run: Snapshot) -> Seen | None:
    """There is a PodGroup, but its pods are another scheduler's, which places them one by one"""
    others = [pod for pod in run.pods if get(pod, ("spec", "schedulerName"), "default-scheduler") != "volcano"]
    if not _held_up(run) or not others:
        return None
    running = sum(phase(pod) == "Running" for pod in run.pods)
    return Seen(
        sentence=f"Its pods are not Volcano's but {get(others[0], ('spec', 'schedulerName'))}'s, so they are placed one by one: "
        f"{running} of "
        f"{run.workers} run and hold their resources, {len(run.pods) - running} wait.",
        evidence=_scheduling(run),
    )


def _scheduling(run: Snapshot) -> tuple[str, ...]:
    found = [each for pod in run.pods if phase(pod) == "Pending" for each in run.events(pod, "FailedScheduling")[:1]]
    return tuple(f"Pod {each['involvedObject']['name']}: FailedScheduling: {each.get('message')}" for each in found[:1])


@cause("volcano/queue-missing", "stuck", rule="queue/volcano-queue-exists")
def queue_missing(run: Snapshot) -> Seen | None:
    """The queue of its PodGroup does not exist"""
    if not _held_up(run) or _queue(run) or run.unknown("queues"):
        return None
    return Seen(
        sentence=f"Its PodGroup names the Volcano queue {get(run.podgroup, ('spec', 'queue'))}, which does not exist.", evidence=_said(run)
    )


@cause("volcano/queue-closed", "stuck", todo="Ask who closed the queue, and why; only an open queue takes gangs in.")
def queue_closed(run: Snapshot) -> Seen | None:
    """The queue of its PodGroup is closed"""
    state = get(_queue(run), ("status", "state"), "Open")
    if not _held_up(run) or state not in ("Closed", "Closing"):
        return None
    return Seen(sentence=f"Its Volcano queue {name(_queue(run))} is {state}, so it takes no gang in.", evidence=_said(run))


@cause("volcano/never-fits", "stuck", rule="queue/volcano-capability")
def never_fits(run: Snapshot) -> Seen | None:
    """Its gang is larger than the capability of its queue"""
    capability = amounts(get(_queue(run), ("spec", "capability"), {}))
    wanted = amounts(get(run.podgroup, ("spec", "minResources"), {}))
    above = sorted(each for each in capability if wanted.get(each, Decimal(0)) > capability[each])
    if not _held_up(run) or not above:
        return None
    first = above[0]
    return Seen(
        sentence=f"Its gang of {get(run.podgroup, ('spec', 'minMember'))} needs {get(run.podgroup, ('spec', 'minResources', first))} of "
        f"{first}, "
        f"and the Volcano queue {name(_queue(run))} may use {get(_queue(run), ('spec', 'capability', first))} in all: it is never "
        f"scheduled.",
        evidence=_said(run),
    )


@cause(
    "volcano/queue-full",
    "waiting",
    todo="Wait, or ask for less; `gate why` on the runs that use the queue says whether they train.",
)
def queue_full(run: Snapshot) -> Seen | None:
    """Other gangs use what its queue may use"""
    match = _kept_out(run, r"queue resource quota insufficient: insufficient (.*)")
    if not match:
        return None
    queue = str(get(run.podgroup, ("spec", "queue"), "default"))
    using = [
        f"{get(each, ('metadata', 'namespace'))}/{name(each)}"
        for each in run.all("PodGroup")
        if get(each, ("spec", "queue")) == queue and get(each, ("status", "phase")) in ("Running", "Inqueue", "Unknown")
    ]
    held = f"; used by {few(using)}" if using else ""
    return Seen(sentence=f"Its gang waits in the Volcano queue {queue} for {match[1]}{held}.", evidence=_said(run))


@cause(
    "volcano/cluster-full",
    "waiting",
    todo="Wait, or ask for less: Volcano lets no gang in while the cluster's nodes are asked for more than they have (overcommit).",
)
def cluster_full(run: Snapshot) -> Seen | None:
    """The cluster has not enough left for its gang, so Volcano does not let it in"""
    match = _kept_out(run, r"resource in cluster is overused: overused (.*)")
    if not match:
        return None
    return Seen(sentence=f"Its gang waits outside: the cluster has not enough {match[1]} for it at this time.", evidence=_said(run))


@cause(
    "volcano/scheduler-down",
    "stuck",
    todo="Look at Volcano's scheduler: kubectl get pods -A -l app=volcano-scheduler, and its log.",
)
def scheduler_down(run: Snapshot) -> Seen | None:
    """Volcano has said nothing about its pods"""
    silent = [
        pod
        for pod in run.pods
        if phase(pod) == "Pending" and not get(pod, ("spec", "nodeName")) and not run.events(pod, "FailedScheduling")
    ]
    theirs = [pod for pod in silent if get(pod, ("spec", "schedulerName")) == "volcano" and run.older(pod, _PATIENCE)]
    if not theirs or _said(run):
        return None
    return Seen(
        sentence=f"Its pods have waited {run.age(theirs[0])} for Volcano's scheduler, which has said nothing about "
        f"them{down(run, 'volcano-scheduler')}."
    )


@cause("volcano/scheduling", "waiting", todo="Ask again in a minute.")
def scheduling(run: Snapshot) -> Seen | None:
    """Volcano has had little time for its gang"""
    if not _held_up(run) or run.podgroup is None or run.older(run.podgroup, _PATIENCE):
        return None
    return Seen(sentence=f"Its gang has waited {run.age(run.podgroup)} for Volcano to place it.", evidence=_said(run))


@cause(
    "volcano/unschedulable",
    "stuck",
    todo="kubectl describe podgroup -n {namespace} {name} and kubectl describe pods -n {namespace} -l "
    "jobset.sigs.k8s.io/jobset-name={name} "
    "say which node lacks what.",
)
def unschedulable(run: Snapshot) -> Seen | None:
    """Volcano does not find a node for each of its pods"""
    said = _said(run)
    if not _held_up(run) or not said:
        return None
    match = re.search(r"Origin reason is \S+: (.*)", "\n".join(said))
    why = f": {match[1].rstrip('.')}" if match else ""
    return Seen(sentence=f"Volcano does not find a node for each of its {run.workers} pods{why}.", evidence=said)


CAUSES: tuple[Cause, ...] = (scheduler_name, queue_missing, queue_closed, never_fits)
LATER: tuple[Cause, ...] = (queue_full, cluster_full, scheduler_down, scheduling, unschedulable)
