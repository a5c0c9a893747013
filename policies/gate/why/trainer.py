"""Trainer: runs that are over, and runs that Trainer did nothing about, or could not."""

from __future__ import annotations

import re
from typing import Any

from gate.model import Manifest, get
from gate.why.causes import WEBHOOK_DOWN, Cause, Seen, cause, down, message, refusal, shorter, stop
from gate.why.death import KINDS, death, deleted
from gate.why.snapshot import Snapshot, condition, created, moment_of

_PATIENCE = 60  # seconds that a controller is given


def progress(run: Snapshot) -> str:
    """How far the training is, as its pods reported it: 40 %, loss 0.3."""
    status: dict[str, Any] = get(run.root, ("status", "trainerStatus"), {}) or {}
    parts = [f"{status['progressPercentage']} %"] if "progressPercentage" in status else []
    parts += [f"{each.get('name')} {each.get('value')}" for each in (status.get("metrics") or [])[:3]]
    return ", ".join(parts)


def restarts(run: Snapshot) -> tuple[int, int]:
    """How often the JobSet was restarted, and how often it may be."""
    count = get(run.jobset, ("status", "restarts"), 0) or 0
    return int(count), int(get(run.jobset, ("spec", "failurePolicy", "maxRestarts"), 0) or 0)


@cause("trainer/complete", "fine")
def complete(run: Snapshot) -> Seen | None:
    """It has trained to its end"""
    done = condition(run.root, "Complete")
    if not done:
        return None
    end = moment_of(done.get("lastTransitionTime"))
    took = int((end - created(run.root)).total_seconds())
    far = progress(run)
    return Seen(
        sentence=f"It has been Complete for {run.age(end)}, {_duration(took)} after it was made{f' ({far})' if far else ''}.",
    )


def _duration(seconds: int) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


@cause(
    "trainer/deadline",
    "failed",
    todo="Make another run with a longer spec.activeDeadlineSeconds; from a checkpoint on a claim it goes on where this one stopped. "
    "The time "
    "counts from the start, also while pods wait for a node.",
)
def deadline(run: Snapshot) -> Seen | None:
    """It took longer than its activeDeadlineSeconds"""
    failed = condition(run.root, "Failed")
    if not failed or failed.get("reason") != "DeadlineExceeded":
        return None
    seconds = get(run.root, ("spec", "activeDeadlineSeconds"))
    far = progress(run)
    return Seen(
        sentence=f"It failed {run.age(failed.get('lastTransitionTime'))} ago: it was not done after its activeDeadlineSeconds of {seconds}"
        f"{f', at {far}' if far else ''}; Trainer has deleted its JobSet and pods.",
    )


def _dead_of(kind: str) -> Cause:
    about = KINDS[kind]

    @cause(f"failed/{kind}", "failed", todo=about.todo, rule=about.rule)
    def failed(run: Snapshot) -> Seen | None:
        over = condition(run.root, "Failed")
        first = death(run) if over else None
        if over is None or first is None or first.kind != kind:
            return None
        count, most = restarts(run)
        after = f" for good after {count} of {most} restarts" if count else ""
        return Seen(
            sentence=f"It failed{after} {run.age(over.get('lastTransitionTime'))} ago: {stop(first.what)}",
            evidence=first.evidence,
            rule=first.rule,
        )

    return Cause(id=failed.id, state=failed.state, title=about.title, todo=about.todo, rule=about.rule, look=failed.look)


@cause("failed/pod-deleted", "failed", rule="jobset/restart-whole-gang")
def pod_deleted(run: Snapshot) -> Seen | None:
    """A pod was deleted from outside (drained, preempted, by hand), and no restart was left"""
    over = condition(run.root, "Failed")
    gone = deleted(run) if over else []
    if not over or not gone:
        return None
    count, most = restarts(run)
    events = [each for pod in gone for each in run.events() if get(each, ("involvedObject", "name")) == pod]
    why = next((each for each in events if each.get("reason") in ("Preempted", "TaintManagerEviction", "NodeNotReady")), None)
    said = f" ({why['reason']}: {stop(why.get('message')).rstrip('.')})" if why else ", by a drain or by hand"
    return Seen(
        sentence=f"It failed {run.age(over.get('lastTransitionTime'))} ago: its pod {gone[0]} was deleted from outside{said}, and "
        + (f"its JobSet had used all {count} restarts." if most else "its JobSet may not restart (maxRestarts 0)."),
        todo="Make another run; from a checkpoint it goes on where this one stopped. A higher maxRestarts survives more." if most else None,
        rule="" if most else None,
    )


@cause(
    "trainer/failed",
    "failed",
    todo="Its pods are gone, and their logs with them; the cluster's log store may have them (labels "
    "jobset.sigs.k8s.io/jobset-name={name}). "
    "Make another run and follow it: kubectl logs -n NAMESPACE -f POD.",
)
def failed(run: Snapshot) -> Seen | None:
    """It failed, and what its workers died of is no longer there"""
    over = condition(run.root, "Failed")
    if not over:
        return None
    events = run.events(None, "BackoffLimitExceeded", "Evicted", "OOMKilling", "FailedMount", "Failed", "DeadlineExceeded")
    return Seen(
        sentence=f"It failed {run.age(over.get('lastTransitionTime'))} ago ({over.get('reason')}): {stop(over.get('message'))}",
        evidence=tuple(
            f"{each['involvedObject']['kind']} {each['involvedObject']['name']}: {each['reason']}: {each.get('message')}"
            for each in events[:2]
        ),
    )


@cause("trainer/runtime-missing", "stuck", rule="trainer/runtime-exists")
def runtime_missing(run: Snapshot) -> Seen | None:
    """The runtime that it names does not exist (any more)"""
    if run.runtime or run.unknown(f"{run.runtime_kind.lower()}s"):
        return None
    if run.jobset and not get(run.root, ("spec", "suspend")):
        return None  # it runs by the snapshot that Trainer took
    queued = ", and Trainer's webhook refuses every change of it, also Kueue's that would start it" if run.jobset else ""
    return Seen(sentence=f"Its {run.runtime_kind} {run.runtime_name} does not exist{queued}: it can never start.")


@cause(
    "trainer/deleting",
    "waiting",
    todo="Look what still holds it: its pods end within their grace period; a finalizer that stays is its controller's to remove.",
)
def deleting(run: Snapshot) -> Seen | None:
    """It is being deleted"""
    since = get(run.root, ("metadata", "deletionTimestamp"))
    if not since:
        return None
    held = ", ".join(get(run.root, ("metadata", "finalizers"), []) or [])
    holds = f"; {held} holds it" if held else ""
    return Seen(sentence=f"It is being deleted, for {run.age(since)} now{holds}; {len(run.pods)} of its pods are there.")


_CONTROLLERS = {"TrainJob": "trainer.kubeflow.org/trainjob-controller", "JobSet": "jobset.sigs.k8s.io/jobset-controller"}


def _manager(manifest: Manifest | None) -> str:
    """Whom the managedBy of a TrainJob or a JobSet names, if that is another than its own controller."""
    manager = str(get(manifest, ("spec", "managedBy")) or "")
    return "" if manifest is None or manager == _CONTROLLERS[manifest["kind"]] else manager


@cause("trainer/left-alone", "stuck", rule="run/started")
def left_alone(run: Snapshot) -> Seen | None:
    """Its managedBy keeps Trainer or JobSet away, and nobody else takes it"""
    here = condition(run.workload, "Admitted") and not get(run.workload, ("status", "admissionChecks"))
    kind, manager = run.root["kind"], _manager(run.root)
    if manager and (here or not run.queue):
        why = "its queue has no admission check of MultiKueue" if here else "it has no queue label"
        return Seen(sentence=f"Its spec.managedBy hands it to {manager}, but {why}: {_quota(run)}nobody makes anything of it.")
    if kind == "TrainJob" and (manager := _manager(run.jobset)):
        return Seen(sentence=f"The JobSet of its runtime has managedBy {manager}: {_quota(run)}JobSet's controller makes no Job of it.")
    return None


def _quota(run: Snapshot) -> str:
    return "it holds its quota, and " if condition(run.workload, "Admitted") else ""


@cause(
    "trainer/other-manager",
    "waiting",
    todo="Ask that controller (MultiKueue: kubectl describe workload -n {namespace}); those of this cluster leave the run alone.",
)
def other_manager(run: Snapshot) -> Seen | None:
    """Another controller than this cluster's manages it"""
    if not (manager := _manager(run.root)):
        return None
    return Seen(sentence=f"Its spec.managedBy hands it to {manager}: the controllers of this cluster do nothing for it.")


_REFUSED = (
    (r"name is too long|must be no more than 63", "jobset/name-fits", "its name is too long for the Jobs and pods that are made of it"),
    (r'unable to find queue: queue\.\S+ "([^"]*)" not found', "queue/volcano-queue-exists", "Volcano has no queue {0}"),
    (r"specified (?:clusterT|t)rainingRuntime must be created", "trainer/runtime-exists", "its runtime does not exist"),
    WEBHOOK_DOWN,
)


@cause(
    "trainer/refused",
    "stuck",
    todo="Mend what the message names, in the runtime or in another run: a TrainJob itself cannot be edited.",
)
def refused(run: Snapshot) -> Seen | None:
    """Trainer cannot make its JobSet or PodGroup: the API server or a webhook refuses it"""
    events = run.events(run.root, "TrainJobResourcesCreationFailed")
    if run.jobset or not events:
        return None
    said = message(events[0], "TrainJob resources reconciliation failed: ")
    rule, words = refusal(said, _REFUSED, 200)
    return Seen(
        sentence=f"Trainer cannot make its JobSet: {stop(words)}",
        evidence=(f"TrainJob {run.name}: TrainJobResourcesCreationFailed: {said}",),
        rule=rule,
    )


@cause(
    "trainer/not-applied",
    "stuck",
    todo="Make another run without what the message names; a JobSet that is there cannot be changed that way.",
)
def not_applied(run: Snapshot) -> Seen | None:
    """It may run, but Trainer cannot unsuspend its JobSet: the API server or a webhook refuses the change"""
    events = run.events(run.root, "TrainJobResourcesCreationFailed")
    held = get(run.jobset, ("spec", "suspend")) and not get(run.root, ("spec", "suspend"))
    if not held or not events:
        return None
    said = message(events[0], "TrainJob resources reconciliation failed: ")
    immutable = re.search(r"field is immutable|spec\.replicatedJobs: Invalid value: \[", said)  # messages are cut off
    why = "the JobSet differs from the one that Trainer now makes, and that field is immutable" if immutable else shorter(said, 200)
    holds = "; it holds its quota all the while" if condition(run.workload, "Admitted") else ""
    return Seen(
        sentence=f"It may run, but Trainer cannot unsuspend its JobSet: {why.rstrip('.')}{holds}.",
        evidence=(f"TrainJob {run.name}: TrainJobResourcesCreationFailed: {said}",),
        rule="versions/kueue-keeps-patches" if immutable and run.queue else None,
        todo="Compare spec.runtimePatches of the TrainJob with Git: what is missing here was dropped. Write it in the runtime instead, and "
        "make another run."
        if immutable
        else None,
    )


@cause(
    "trainer/controller-down",
    "stuck",
    todo="Look at Trainer's controller: kubectl get pods -A -l app.kubernetes.io/name=trainer, and its log.",
)
def controller_down(run: Snapshot) -> Seen | None:
    """Trainer has done nothing about it"""
    if run.jobset or not run.older(run.root, _PATIENCE) or run.unknown("jobsets"):
        return None
    return Seen(
        sentence=f"Trainer has done nothing about it in {run.age(run.root)}: there is neither a JobSet nor an event{down(run, 'trainer')}."
    )


@cause("trainer/new", "waiting", todo="Ask again in a minute.")
def new(run: Snapshot) -> Seen | None:
    """It was made just now"""
    if run.jobset:
        return None
    return Seen(sentence=f"It was made {run.age(run.root)} ago, and Trainer has not made its JobSet yet.")


OVER: tuple[Cause, ...] = (complete, deadline, *(_dead_of(kind) for kind in KINDS), pod_deleted, failed)
MANAGED: tuple[Cause, ...] = (left_alone, other_manager)
BEGUN: tuple[Cause, ...] = (deleting, *MANAGED, runtime_missing, refused, not_applied)
NOTHING: tuple[Cause, ...] = (controller_down, new)
