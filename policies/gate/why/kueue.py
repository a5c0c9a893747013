"""Kueue: why a run has no quota, or has lost it."""

from __future__ import annotations

import re

from gate.model import Manifest, get
from gate.why.causes import Cause, Seen, cause, down, few, stop
from gate.why.snapshot import QUEUE_NAME, Snapshot, condition, label, name, phase

_PRIORITY = "kueue.x-k8s.io/priority-class"
_GROUP = "kueue.x-k8s.io"
_PATIENCE = 60  # seconds that a controller is given
_MISSING = {
    "FlavorNotFound": ("a ResourceFlavor of it does not exist", "queue/flavor-exists"),
    "AdmissionCheckNotFound": ("an AdmissionCheck of it does not exist", "queue/admission-check-exists"),
    "AdmissionCheckInactive": ("an AdmissionCheck of it is not active", None),
    "TopologyNotFound": ("the Topology of one of its flavors does not exist", "queue/topology-exists"),
    "Terminating": ("it is being deleted", None),
}


def _waits(run: Snapshot) -> bool:
    return bool(get(run.root, ("spec", "suspend"))) and bool(run.queue)


def _told(run: Snapshot) -> str:
    """Why Kueue does not reserve quota, in its words."""
    unreserved = condition(run.workload, "QuotaReserved", "False")
    return str(unreserved.get("message", "")) if unreserved and _waits(run) else ""


def _said(run: Snapshot) -> tuple[str, ...]:
    return (f"Workload {name(run.workload)}: QuotaReserved=False: {_told(run)}",)


@cause("kueue/absent", "stuck", rule="queue/one-system")
def absent(run: Snapshot) -> Seen | None:
    """The run has a queue label, and the cluster has no Kueue"""
    if not _waits(run) or _GROUP in run.groups:
        return None
    return Seen(sentence=f"It is suspended for Kueue's queue {run.queue}, but this cluster has no Kueue: nothing will ever start it.")


@cause("kueue/label-place", "stuck", rule="queue/kueue-label-place")
def label_place(run: Snapshot) -> Seen | None:
    """The queue label is below the object that Kueue looks at: on the JobSet of a TrainJob, on the Job of a JobSet"""
    below = [run.jobset] if run.is_trainjob and run.jobset else run.jobs
    queue = next((found for each in below if (found := label(each, QUEUE_NAME))), "")
    running = [pod for pod in run.pods if phase(pod) == "Running" and not get(pod, ("metadata", "deletionTimestamp"))]
    if not queue or run.queue or len(running) >= run.workers:
        return None
    if not run.is_trainjob:
        return Seen(
            sentence=f"Kueue's queue label ({queue}) is on its Job template and not on the JobSet: Kueue queues each Job by itself, and "
            "stops again and again what JobSet starts."
        )
    return Seen(
        sentence=f"Kueue's queue label ({queue}) is on its JobSet and not on the TrainJob: Kueue suspends what Trainer starts again and "
        f"again."
    )


@cause("kueue/priority-class-missing", "stuck", rule="queue/workload-priority-class-exists")
def priority_class(run: Snapshot) -> Seen | None:
    """There is no Workload, because the WorkloadPriorityClass does not exist"""
    wanted = label(run.root, _PRIORITY)
    if not _waits(run) or run.workload or not wanted or run.one("WorkloadPriorityClass", wanted):
        return None
    if run.unknown("workloadpriorityclasses"):
        return None
    return Seen(
        sentence=f"Kueue makes no Workload for it, because there is no WorkloadPriorityClass {wanted}, which its label names: "
        "it stays suspended, and no queue knows of it."
    )


@cause(
    "kueue/no-workload",
    "stuck",
    rule="queue/kueue-manages-trainjobs",
    todo="Look whether Kueue's controller runs (kubectl get deployments -A -l app.kubernetes.io/name=kueue), what its log says, and "
    "whether its configuration's integrations.frameworks names trainer.kubeflow.org/trainjob.",
)
def no_workload(run: Snapshot) -> Seen | None:
    """Kueue has made no Workload for a run with a queue label"""
    if not _waits(run) or run.workload or not run.older(run.root, _PATIENCE) or run.unknown("workloads"):
        return None
    return Seen(
        sentence=f"It waits in Kueue's queue {run.queue}, but Kueue has made no Workload for it in {run.age(run.root)}{down(run, 'kueue')}."
    )


@cause(
    "kueue/not-passed-on",
    "stuck",
    rule="versions/kueue-and-trainer",
)
def not_passed_on(run: Snapshot) -> Seen | None:
    """Its Workload is admitted, and the TrainJob stays suspended"""
    admitted = condition(run.workload, "Admitted")
    if not _waits(run) or not admitted or not run.older(admitted.get("lastTransitionTime"), _PATIENCE):
        return None
    if run.runtime is None:
        return None
    return Seen(
        sentence=f"Kueue admitted it {run.age(admitted.get('lastTransitionTime'))} ago, but the TrainJob is still suspended: "
        "what Kueue writes does not reach it."
    )


@cause(
    "kueue/deactivated",
    "stuck",
    todo="Find out who did it, mend that, then set spec.active of the Workload to true: kubectl patch workload -n {namespace} {workload} "
    '--type=merge -p \'{{"spec":{{"active":true}}}}\'',
)
def deactivated(run: Snapshot) -> Seen | None:
    """Its Workload was deactivated: by hand, or because it was put back too often or ran too long"""
    if get(run.workload, ("spec", "active")) is not False:
        return None
    found = condition(run.workload, "Evicted")
    why = found if found and str(found.get("reason")).startswith("Deactivated") else None
    return Seen(
        sentence=f"Its Workload {name(run.workload)} is deactivated (spec.active: false), so Kueue leaves it alone until somebody "
        f"activates it{': ' + stop(why['message']) if why else '.'}",
    )


@cause("kueue/local-queue-missing", "stuck", rule="queue/local-queue-exists")
def local_queue_missing(run: Snapshot) -> Seen | None:
    """The LocalQueue that its label names does not exist"""
    if not re.search(r"^LocalQueue .* (doesn't exist|is terminating or missing)", _told(run)):
        return None
    return Seen(
        sentence=f"It waits for the LocalQueue {run.queue}, which does not exist in namespace {run.namespace}.", evidence=_said(run)
    )


@cause("kueue/cluster-queue-missing", "stuck", rule="queue/cluster-queue-exists")
def cluster_queue_missing(run: Snapshot) -> Seen | None:
    """The ClusterQueue of its LocalQueue does not exist"""
    if not re.search(r"^ClusterQueue .* (doesn't exist|not found|is terminating or missing)", _told(run)):
        return None
    wanted = get(run.local_queue, ("spec", "clusterQueue"), "?")
    return Seen(
        sentence=f"It waits in LocalQueue {run.queue}, whose ClusterQueue {wanted} does not exist.",
        evidence=_said(run),
    )


@cause(
    "kueue/queue-stopped",
    "stuck",
    rule="queue/not-stopped",
    todo="Ask who stopped the queue, and why; spec.stopPolicy: None lets it admit again.",
)
def queue_stopped(run: Snapshot) -> Seen | None:
    """Its queue was stopped (stopPolicy)"""
    if not _told(run):
        return None
    for queue in (run.local_queue, run.cluster_queue):
        policy = get(queue, ("spec", "stopPolicy"), "None")
        if queue is not None and policy != "None":
            kind = queue["kind"]
            return Seen(
                sentence=f"{kind} {name(queue)} is stopped (stopPolicy: {policy}), so it admits nothing.",
                evidence=_said(run),
            )
    return None


@cause(
    "kueue/queue-inactive",
    "stuck",
    todo="kubectl describe clusterqueue {cluster_queue} says what it lacks.",
)
def queue_inactive(run: Snapshot) -> Seen | None:
    """Its ClusterQueue is not active: a flavor, an admission check or a topology is missing"""
    inactive = condition(run.cluster_queue, "Active", "False")
    if not inactive or not _told(run):
        return None
    missing, rule = _MISSING.get(str(inactive.get("reason")), (str(inactive.get("reason")), None))
    return Seen(
        sentence=f"ClusterQueue {name(run.cluster_queue)} is inactive, so it admits nothing: {missing}.",
        evidence=(f"ClusterQueue {name(run.cluster_queue)}: Active=False: {inactive.get('message')}",),
        rule=rule,
    )


@cause("kueue/namespace-not-selected", "stuck", rule="queue/namespace-selected")
def not_selected(run: Snapshot) -> Seen | None:
    """Its ClusterQueue does not take runs of its namespace"""
    if "namespace doesn't match ClusterQueue selector" not in _told(run):
        return None
    return Seen(
        sentence=f"ClusterQueue {name(run.cluster_queue)} does not select the namespace {run.namespace}, so it will never admit this run.",
        evidence=_said(run),
    )


@cause("kueue/resource-not-covered", "stuck", rule="queue/resources-covered")
def not_covered(run: Snapshot) -> Seen | None:
    """It asks for a resource that its ClusterQueue does not know"""
    match = re.search(r"resource (\S+) unavailable in ClusterQueue|flavor \S+ does not provide resource (\S+)", _told(run))
    if not match:
        return None
    return Seen(
        sentence=f"It asks for {match[1] or match[2]}, which ClusterQueue {name(run.cluster_queue)} does not cover, so it will never be "
        f"admitted.",
        evidence=_said(run),
    )


@cause("kueue/never-fits", "stuck", rule="queue/within-quota")
def never_fits(run: Snapshot) -> Seen | None:
    """It asks for more than its ClusterQueue can ever give"""
    match = re.search(
        r"insufficient quota for (\S+) in flavor (\S+), .*requests? \((\S+)\) \+ "
        r"current podset request \((\S+)\) > maximum capacity \((\S+)\)",
        _told(run),
    )
    if not match:
        return None
    resource, flavor, before, asked, most = match.groups()
    more = f" and {before} for what stands before it" if before != "0" else ""
    return Seen(
        sentence=f"It asks for {asked} of {resource}{more}, and ClusterQueue {name(run.cluster_queue)} has {most} in all (flavor "
        f"{flavor}): "
        "it will never be admitted as it is.",
        evidence=_said(run),
    )


@cause(
    "kueue/no-topology-place",
    "stuck",
    todo="Look which domain of the topology is full or too small (kubectl get nodes with the topology's labels); ask for fewer workers "
    "or a "
    "wider level in kueue.x-k8s.io/podset-required-topology, or for podset-preferred-topology.",
)
def topology(run: Snapshot) -> Seen | None:
    """No domain of the topology has a place for all its pods"""
    match = re.search(r'topology "([^"]*)" (doesn\'t allow to fit|allows to fit only) .*', _told(run))
    if not match:
        return None
    return Seen(sentence=f"No domain of the topology {match[1]} has a place for its workers at this time.", evidence=_said(run))


@cause(
    "kueue/flavor-does-not-fit",
    "stuck",
    rule="queue/flavor-takes-pods",
    todo="Give the pods the toleration or the node labels that the flavor asks for, or use a queue with another flavor.",
)
def flavor(run: Snapshot) -> Seen | None:
    """Its pods do not tolerate or do not match the flavors of its queue"""
    match = re.search(r"untolerated taint .*? in flavor \S+|flavor \S+ doesn't match node affinity", _told(run))
    if not match or "more needed" in _told(run):
        return None
    return Seen(
        sentence=f"No flavor of ClusterQueue {name(run.cluster_queue)} fits its pods: {match[0]}.",
        evidence=_said(run),
    )


@cause(
    "kueue/resources-refused",
    "stuck",
    todo="Make another run whose requests keep the LimitRange of the namespace and are not above their limits.",
)
def resources_refused(run: Snapshot) -> Seen | None:
    """Its requests are above its limits, or outside of a LimitRange"""
    match = re.match(r"(resources validation failed|resources didn't satisfy LimitRange constraints): (.*)", _told(run))
    if not match:
        return None
    above = "requests must not exceed its limits" in match[2]
    return Seen(
        sentence=f"Kueue will never admit it: {stop(match[0])}",
        evidence=_said(run),
        rule="resources/requests-below-limits" if above else None,
    )


@cause(
    "kueue/preempted",
    "waiting",
    todo="Nothing: it is queued again and resumes from its checkpoint when the quota is free. Who must not be stopped needs a higher "
    "WorkloadPriorityClass (label kueue.x-k8s.io/priority-class) or a quota of its own.",
)
def preempted(run: Snapshot) -> Seen | None:
    """It was stopped for another run and waits again"""
    evicted = condition(run.workload, "Evicted")
    if not _waits(run) or not evicted or evicted.get("reason") != "Preempted":
        return None
    match = re.search(r"UID: ([^,)\s]+)", str(evicted.get("message")))
    by = next((each for each in run.all("Workload") if match and get(each, ("metadata", "uid")) == match[1]), None)
    taker = _job_of(by) if by else "another run"
    return Seen(
        sentence=f"It was stopped {run.age(evicted.get('lastTransitionTime'))} ago to make room for {taker}, and waits in "
        f"ClusterQueue {name(run.cluster_queue)} for quota again.",
        evidence=(f"Workload {name(run.workload)}: Evicted: {evicted.get('message')}", *(_said(run) if _told(run) else ())),
    )


@cause(
    "kueue/evicted",
    "stuck",
    todo="kubectl describe workload -n {namespace} {workload} says more; it is queued again unless its message says otherwise.",
)
def evicted(run: Snapshot) -> Seen | None:
    """Kueue stopped it for another reason: a check failed, its pods did not become ready, its queue was stopped"""
    found = condition(run.workload, "Evicted")
    if not _waits(run) or not found:
        return None
    return Seen(
        sentence=f"Kueue stopped it {run.age(found.get('lastTransitionTime'))} ago ({found.get('reason')}): {stop(found.get('message'))}",
        evidence=_said(run) if _told(run) else (),
    )


@cause(
    "kueue/admission-check",
    "waiting",
    todo="Look at the AdmissionCheck and its controller (a ProvisioningRequest waits for nodes, MultiKueue for another cluster): "
    "kubectl describe workload -n {namespace} {workload}.",
)
def admission_check(run: Snapshot) -> Seen | None:
    """It has quota and waits for an admission check"""
    reserved = condition(run.workload, "QuotaReserved")
    if not _waits(run) or not reserved or condition(run.workload, "Admitted"):
        return None
    checks = [each for each in get(run.workload, ("status", "admissionChecks"), []) or [] if each.get("state") != "Ready"]
    said = "; ".join(f"{each.get('name')} ({each.get('state')}{': ' + each['message'] if each.get('message') else ''})" for each in checks)
    return Seen(
        sentence=f"Its quota has been reserved for {run.age(reserved.get('lastTransitionTime'))}; it waits for "
        f"{'the admission check ' + stop(said) if said else 'admission.'}"
    )


@cause(
    "kueue/quota-held",
    "waiting",
    todo="Wait, or ask for less, or give it a higher WorkloadPriorityClass if the queue preempts; `gate why` on the runs that hold the "
    "quota "
    "says whether they train.",
)
def quota_held(run: Snapshot) -> Seen | None:
    """Others hold the quota that it needs"""
    needs = re.findall(r"insufficient unused quota for (\S+) in flavor (\S+), (\S+) more needed", _told(run))
    if not needs:
        return None
    queue = name(run.cluster_queue)
    lacks = ", ".join(f"{amount.rstrip(',')} more of {resource} (flavor {flavor})" for resource, flavor, amount in needs)
    holders = [
        each
        for each in run.all("Workload")
        if get(each, ("status", "admission", "clusterQueue")) == queue and not condition(each, "Finished")
    ]
    others = [_job_of(each) for each in holders if each is not run.workload]
    held = f"; held by {few(others)}" if others else ""
    return Seen(sentence=f"It waits in ClusterQueue {queue} for {lacks}{held}.", evidence=_said(run))


@cause("kueue/waiting", "waiting", todo="kubectl describe workload -n {namespace} {workload} says more.")
def waiting(run: Snapshot) -> Seen | None:
    """It waits in its queue for another reason, in Kueue's own words"""
    if not _waits(run):
        return None
    told = _told(run)
    if not told:
        silent = "Kueue has not said anything yet" if run.workload else "Kueue has made no Workload for it yet"
        why = "its Workload could not be read" if run.unknown("workloads") else silent
        return Seen(sentence=f"It waits in Kueue's queue {run.queue}; {why}.")
    return Seen(sentence=f"It waits in Kueue's queue {run.queue}: {stop(told)}", evidence=_said(run))


@cause(
    "trainer/suspended",
    "stuck",
    todo="Whoever suspended it can let it go on: kubectl patch {kind} -n {namespace} {name} --type=merge -p "
    '\'{{"spec":{{"suspend":false}}}}\'',
    rule="run/started",
)
def suspended(run: Snapshot) -> Seen | None:
    """Somebody suspended it"""
    if not get(run.root, ("spec", "suspend")):
        return None
    since = condition(run.root, "Suspended") or {}
    return Seen(
        sentence=f"It has been suspended (spec.suspend: true) for {run.age(since.get('lastTransitionTime') or run.root)}, and no "
        f"queue holds "
        "it: somebody must let it go on."
    )


def _job_of(workload: Manifest) -> str:
    """The run that a Workload is of, as namespace/name."""
    owners = get(workload, ("metadata", "ownerReferences"), []) or []
    called = owners[0].get("name") if owners else name(workload)
    return f"{get(workload, ('metadata', 'namespace'))}/{called}"


CAUSES: tuple[Cause, ...] = (
    absent,
    label_place,
    deactivated,
    priority_class,
    no_workload,
    not_passed_on,
    local_queue_missing,
    cluster_queue_missing,
    queue_stopped,
    queue_inactive,
    not_selected,
    not_covered,
    never_fits,
    topology,
    flavor,
    resources_refused,
    preempted,
    evicted,
    admission_check,
    quota_held,
    waiting,
    suspended,
)
