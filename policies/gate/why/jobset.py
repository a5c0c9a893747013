"""JobSet and Job: what was made of the run, or could not be; and gangs that are restarted."""

from __future__ import annotations

from gate.model import get
from gate.why.causes import WEBHOOK_DOWN, Cause, Seen, cause, down, message, refusal, stop
from gate.why.death import DEADLINE, LATE, death
from gate.why.snapshot import Snapshot, attempt, condition, created, index, name, phase, seen
from gate.why.trainer import restarts

_PATIENCE = 60  # seconds that a controller is given
_SHORT = 600  # seconds of an attempt below which restarting again and again is no progress
_REFUSED = (
    (r"violates PodSecurity \"([^:\"]*)[^\"]*\": (.*)", "pods/pod-security", "its namespace enforces Pod Security {0}: {1}"),
    (
        r"Limit must be set for non overcommitable resources",
        "resources/extended-limits",
        "it asks for an extended resource in requests only",
    ),
    (r"must be equal to \S+ limit", "resources/extended-limits", "an extended resource's request and limit differ"),
    (r"must be less than or equal to (\S+) limit", "resources/requests-below-limits", "a request for {0} is above its limit"),
    (r"exceeded quota: ([^,]*), (.*)", None, "the ResourceQuota {0} of the namespace is exceeded ({1})"),
    (r"no PriorityClass with name (\S+) was found", "refs/objects-exist", "there is no PriorityClass {0}"),
    (r"error looking up service account \S+?/(\S+):", "refs/objects-exist", "there is no service account {0}"),
    (r"volumeMounts\S*: Not found: \"([^\"]*)\"", "refs/volumes-declared", "it mounts the volume {0}, which its pod does not have"),
    WEBHOOK_DOWN,
)


@cause("jobset/jobs-refused", "stuck", todo="Mend what the message names, in the runtime or in another run.")
def jobs_refused(run: Snapshot) -> Seen | None:
    """JobSet cannot make the Jobs: the API server refuses them"""
    events = run.events(run.jobset, "JobCreationFailed", "HeadlessServiceCreationFailed", "PVCCreationFailed") if run.jobset else []
    if run.jobs or not events:
        return None
    said = message(events[0])
    rule, words = refusal(said, _REFUSED, 250)
    return Seen(
        sentence=f"JobSet cannot make its Jobs: {stop(words)}",
        evidence=(f"JobSet {run.name}: {events[0]['reason']}: {said}",),
        rule=rule,
    )


@cause(
    "jobset/controller-down",
    "stuck",
    todo="Look at JobSet's controller: kubectl get pods -A -l app.kubernetes.io/name=jobset, and its log.",
)
def controller_down(run: Snapshot) -> Seen | None:
    """There is a JobSet, and nothing is made of it"""
    if not run.jobset or run.jobs or not run.older(run.jobset, _PATIENCE) or run.unknown("jobs"):
        return None
    return Seen(sentence=f"Its JobSet has been there for {run.age(run.jobset)}, but JobSet has made no Job of it{down(run, 'jobset')}.")


@cause(
    "jobset/suspended",
    "stuck",
    todo="Trainer sets spec.suspend of the JobSet as the TrainJob has it; who changed it? Look at the JobSet's managedFields and its "
    "controller.",
)
def suspended(run: Snapshot) -> Seen | None:
    """Its JobSet or Job is suspended, though the TrainJob is not"""
    if get(run.root, ("spec", "suspend")) or run.pods:
        return None
    held = [each for each in (run.jobset, *run.jobs) if each and get(each, ("spec", "suspend")) and run.older(run.jobset, _PATIENCE)]
    if not held:
        return None
    return Seen(sentence=f"The TrainJob may run, but its {held[0]['kind']} {name(held[0])} is suspended.")


@cause("jobset/pods-refused", "stuck", todo="Mend what the message names, in the runtime or in another run.")
def pods_refused(run: Snapshot) -> Seen | None:
    """The Job cannot make its pods: the API server refuses them"""
    events = [each for job in run.jobs for each in run.events(job, "FailedCreate")]
    missing = run.workers - len(run.pods)
    if not events or missing <= 0:
        return None
    said = message(events[0], "Error creating: ")
    rule, words = refusal(said, _REFUSED, 250)
    count = "its pods" if not run.pods else f"{missing} of its {run.workers} pods"
    return Seen(
        sentence=f"The API server refuses {count}: {stop(words)}",
        evidence=(f"Job {events[0]['involvedObject']['name']}: FailedCreate: {said}",),
        rule=rule,
    )


@cause(
    "jobset/waits-for-another",
    "waiting",
    todo="Look at the Job that has to come first: its pods and logs.",
)
def waits_for_another(run: Snapshot) -> Seen | None:
    """A part of it (an initializer) has to be done before the workers start"""
    begun = condition(run.jobset, "StartupPolicyInProgress")
    parts = get(run.jobset, ("spec", "replicatedJobs"), []) or []
    there = {get(job, ("metadata", "labels", "jobset.sigs.k8s.io/replicatedjob-name")) for job in run.jobs}
    waiting = [part for part in parts if part.get("name") not in there and part.get("dependsOn")]
    if not run.jobs or not (begun or waiting) or any(phase(pod) in ("Pending", "Failed") for pod in run.pods):
        return None
    first = [f"{each.get('name')} ({each.get('status')})" for part in waiting for each in part["dependsOn"]]
    return Seen(sentence=f"Its workers wait until {', '.join(first) or 'the Jobs before them'} is reached.")


@cause(
    "jobset/no-pods",
    "stuck",
    todo="Look at the kube-controller-manager, which makes a Job's pods: kubectl describe job -n {namespace} {name}-node-0.",
)
def no_pods(run: Snapshot) -> Seen | None:
    """There is a Job, and no pod is made of it"""
    if not run.jobs or run.pods or not run.older(run.jobs[-1], _PATIENCE) or run.unknown("pods"):
        return None
    return Seen(sentence=f"Its Job {name(run.jobs[-1])} has been there for {run.age(run.jobs[-1])}, but has no pod.")


@cause("jobset/lone-restart", "stuck", rule="jobset/backoff-limit-zero")
def lone_restart(run: Snapshot) -> Seen | None:
    """A worker that failed was replaced alone, which the others cannot take back"""
    limited = [job for job in run.jobs if int(get(job, ("spec", "backoffLimit"), 0) or 0) and get(job, ("status", "failed"))]
    first = death(run)
    if not limited or not first or first.kind == "deadline" or run.workers < 2 or condition(run.root, "Failed"):
        return None
    failed = [pod for pod in run.pods if phase(pod) == "Failed"]
    running = sorted({index(pod) for pod in run.pods if phase(pod) == "Running"})
    others = f"worker {', '.join(map(str, running[:8]))} cannot take it back and waits" if running else "the others cannot take it back"
    last = death(run, [max(failed, key=lambda pod: str(get(pod, ("metadata", "creationTimestamp"))))]) if len(failed) > 1 else None
    return Seen(
        sentence=f"{first.what[0].upper()}{first.what[1:]}; its Job (backoffLimit {get(limited[0], ('spec', 'backoffLimit'))}) replaces it "
        f"alone, {get(limited[0], ('status', 'failed'))} times so far, and {others}.",
        evidence=(*first.evidence, *(last.evidence if last else ())),
    )


@cause("jobset/in-place-restart", "stuck", rule="jobset/restart-policy-never")
def in_place(run: Snapshot) -> Seen | None:
    """A container that failed was restarted in place, which the others cannot take back"""
    again = [
        (pod, status) for pod in run.pods for status in get(pod, ("status", "containerStatuses"), []) or [] if status.get("restartCount")
    ]
    first = death(run, [pod for pod, _ in again])
    if not again or not first or condition(run.root, "Failed"):
        return None
    count = sum(int(status["restartCount"]) for _, status in again)
    return Seen(
        sentence=f"{first.what[0].upper()}{first.what[1:]}; the kubelet restarts the container in place (restartPolicy "
        f"{get(again[0][0], ('spec', 'restartPolicy'))}), {count} times so far, and JobSet counts nothing.",
        evidence=first.evidence,
    )


def attempts(run: Snapshot) -> str:
    """Which attempt this is: attempt 3 of at most 4; empty for a first one."""
    count, most = restarts(run)
    return f"attempt {count + 1} of at most {most + 1}" if count else ""


@cause(
    "jobset/not-restarting",
    "stuck",
    todo="Look at JobSet's controller: kubectl get pods -A -l app.kubernetes.io/name=jobset, and its log.",
)
def not_restarting(run: Snapshot) -> Seen | None:
    """A worker has died, its Job has failed, and JobSet does nothing about it"""
    over = [each for job in run.jobs if (each := condition(job, "Failed")) and run.older(each.get("lastTransitionTime"), _PATIENCE)]
    leaving = any(get(each, ("metadata", "deletionTimestamp")) for each in (*run.jobs, *run.pods))
    first = death(run) if over and not leaving and not condition(run.root, "Failed") else None
    if not first:
        return None
    return Seen(
        sentence=f"{first.what[0].upper()}{first.what[1:]}; its Job failed {run.age(over[0].get('lastTransitionTime'))} ago, and JobSet "
        f"has not restarted the gang{down(run, 'jobset')}.",
        evidence=first.evidence,
    )


@cause(
    "jobset/dying",
    "waiting",
    todo="Read the log before the restart removes it: kubectl logs -n {namespace} {pod}.",
)
def dying(run: Snapshot) -> Seen | None:
    """A worker has died, and the whole gang is about to be restarted"""
    first = death(run) if not condition(run.root, "Failed") else None
    if not first:
        return None
    count, most = restarts(run)
    left = f"JobSet restarts the gang (restart {count + 1} of {most})" if count < most else f"no restart is left (maxRestarts {most})"
    if any(attempt(job) < count for job in run.jobs):
        left = f"JobSet is restarting the gang (restart {count} of {most})"
    return Seen(sentence=f"{first.what[0].upper()}{first.what[1:]}; {left}.", evidence=first.evidence, rule=first.rule)


@cause(
    "jobset/restart-loop",
    "stuck",
    todo="Each attempt ends after a short time. Catch the log of the next one before it goes: kubectl logs -n {namespace} -f "
    "-l jobset.sigs.k8s.io/jobset-name={name} --prefix --tail=-1, or look into the cluster's log store.",
)
def restart_loop(run: Snapshot) -> Seen | None:
    """Its gang is restarted again and again"""
    count, _ = restarts(run)
    latest = max(run.jobs, key=lambda job: str(get(job, ("metadata", "creationTimestamp"))), default=None)
    if count < 2 or latest is None or run.older(latest, _SHORT):
        return None
    since = (run.now - run.first_start).total_seconds() / (count + 1)
    if since > _SHORT:
        return None
    late = [each for each in run.events(None, LATE) if abs((seen(each) - created(latest)).total_seconds()) <= _PATIENCE]
    events = late or run.events(None, "OOMKilling", "Evicted", "FailedMount", "Unhealthy", "RestartJobSetFailurePolicyAction")
    before = "the attempt before it" if late else "what the earlier attempts wrote"
    end = "was not done after the activeDeadlineSeconds of its Job or its pods" if late else "is gone with their pods"
    return Seen(
        sentence=f"It is at {attempts(run)}: its gang was restarted {count} times, on average after {max(1, int(since))} s, the last time "
        f"{run.age(latest)} ago; {before} {end}.",
        rule=DEADLINE if late else None,
        evidence=tuple(
            f"{each['involvedObject']['kind']} {each['involvedObject']['name']}: {each['reason']}: {each.get('message')}"
            for each in events[:2]
        ),
    )


@cause("jobset/complete", "fine")
def complete(run: Snapshot) -> Seen | None:
    """A JobSet without a TrainJob is done"""
    done = None if run.is_trainjob else condition(run.root, "Completed")
    return Seen(sentence=f"It has been Completed for {run.age(done.get('lastTransitionTime'))}.") if done else None


@cause("jobset/failed", "failed", todo="Make it again under another name, once the cause is mended.")
def failed(run: Snapshot) -> Seen | None:
    """A JobSet without a TrainJob has failed"""
    over = None if run.is_trainjob else condition(run.root, "Failed")
    if not over:
        return None
    first = death(run)
    count, most = restarts(run)
    return Seen(
        sentence=f"It failed {run.age(over.get('lastTransitionTime'))} ago, "
        + (f"after {count} of {most} restarts: " if most else "and may not restart (maxRestarts 0): ")
        + stop(first.what if first else over.get("message")),
        evidence=first.evidence if first else (),
        rule=first.rule if first else None,
    )


OVER: tuple[Cause, ...] = (complete, failed)
MADE: tuple[Cause, ...] = (jobs_refused, controller_down, suspended, pods_refused, waits_for_another, no_pods)
DYING: tuple[Cause, ...] = (in_place, lone_restart, not_restarting, dying)
AGAIN: tuple[Cause, ...] = (restart_loop,)
