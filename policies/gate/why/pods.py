"""Pods: why they have no node, or do not start on it."""

from __future__ import annotations

import re
from decimal import Decimal

from gate.model import Manifest, get
from gate.resolve import asked
from gate.why.causes import Cause, Seen, cause, stop
from gate.why.snapshot import Snapshot, condition, index, name, phase, statuses
from gate.why.volcano import amounts

_PATIENCE = 60  # seconds that a scheduler or a kubelet is given
_OBJECT = r"(configmap|secret|persistentvolumeclaim) \"?([^\s\"]+?)\"? not found"
_WORDS = {"configmap": "ConfigMap", "secret": "Secret", "persistentvolumeclaim": "PersistentVolumeClaim"}


def _homeless(run: Snapshot) -> list[Manifest]:
    """The pods that no scheduler has placed."""
    return [pod for pod in run.pods if phase(pod) == "Pending" and not get(pod, ("spec", "nodeName"))]


def _told(run: Snapshot) -> tuple[str, tuple[str, ...]]:
    """What the scheduler says of the first pod without a node, and where it says so."""
    for pod in _homeless(run):
        found = condition(pod, "PodScheduled", "False")
        if found and found.get("message"):
            said = re.split(r"(?:no new claims to deallocate, )?preemption: ", str(found["message"]))[0].strip()
            return said, (f"Pod {name(pod)}: {found.get('reason')}: {said}",)
    return "", ()


def _waiting(run: Snapshot, *reasons: str) -> tuple[Manifest, str, str] | None:
    """The first pod one of whose containers waits for one of these reasons: pod, reason, message."""
    for pod in run.pods:
        for each in statuses(pod):
            state = get(each, ("state", "waiting")) or {}
            if state.get("reason") in reasons:
                return pod, str(state["reason"]), str(state.get("message") or "")
    return None


def _of(run: Snapshot, wanted: int) -> str:
    return f"its {run.workers} pods" if wanted == run.workers else f"{wanted} of its {run.workers} pods"


@cause(
    "pods/no-scheduler",
    "stuck",
    todo="Write the name of a scheduler that runs here (volcano, default-scheduler) as schedulerName of the pod template.",
)
def no_scheduler(run: Snapshot) -> Seen | None:
    """No scheduler has looked at its pods"""
    silent = [pod for pod in _homeless(run) if not get(pod, ("status", "conditions")) and not run.events(pod) and run.older(pod, 30)]
    if not silent:
        return None
    called = get(silent[0], ("spec", "schedulerName"))
    return Seen(
        sentence=f"Its pods have waited {run.age(silent[0])} for a scheduler called {called}, and none of that name has looked at them."
    )


@cause(
    "pods/gated",
    "stuck",
    todo="Look at spec.schedulingGates of the pods; whoever set the gates has to remove them.",
)
def gated(run: Snapshot) -> Seen | None:
    """Its pods have scheduling gates"""
    held = [pod for pod in _homeless(run) if get(pod, ("spec", "schedulingGates"))]
    if not held:
        return None
    gates = ", ".join(str(each.get("name")) for each in held[0]["spec"]["schedulingGates"])
    queued = "kueue.x-k8s.io/admission" in gates and not run.queue
    why = ": the queue label is on the pods, so Kueue queues each of them alone" if queued else ""
    return Seen(
        sentence=f"{len(held)} of its {run.workers} pods are held back by scheduling gates ({gates}){why}.",
        rule="queue/kueue-label-place" if queued else None,
    )


@cause("pods/never-fits", "stuck", rule="nodes/gang-fits")
def never_fits(run: Snapshot) -> Seen | None:
    """No node is large enough for one of its pods, or all together for its gang, even if they were empty"""
    nodes = [amounts(get(node, ("status", "allocatable"), {})) for node in run.all("Node")]
    homeless = _homeless(run)
    if not nodes or not homeless:
        return None
    wanted = {each: amount for each, amount in asked(homeless[0]["spec"], "requests").items() if amount > 0}
    for each, amount in sorted(wanted.items()):
        most = max(node.get(each, Decimal(0)) for node in nodes)
        if amount > most:
            has = f"the largest node has {_number(most)}" if most else "no node has any"
            return Seen(
                sentence=f"A worker asks for {_number(amount)} of {each}, and {has}: no node can ever hold it.",
                evidence=_told(run)[1],
            )
    places = sum(min((int(node.get(each, Decimal(0)) // amount) for each, amount in wanted.items()), default=0) for node in nodes)
    if places < run.workers:
        return Seen(
            sentence=f"The cluster's nodes have places for {places} workers of this size if they were empty, and the run has "
            f"{run.workers}: "
            "they can never run together.",
            evidence=_told(run)[1],
        )
    return None


def _number(amount: Decimal) -> str:
    return f"{amount.normalize():f}" if amount < 1 << 20 else f"{amount / (1 << 30):.4g}Gi"


@cause("pods/claim", "stuck", rule="refs/objects-exist")
def claim(run: Snapshot) -> Seen | None:
    """A claim that its pods mount does not exist, or has no volume"""
    said, evidence = _told(run)
    if match := re.search(r"persistentvolumeclaim \"([^\"]+)\" not found", said):
        return Seen(sentence=f"Its pods mount the claim {match[1]}, which does not exist in namespace {run.namespace}.", evidence=evidence)
    if "unbound immediate PersistentVolumeClaims" in said or "volume node affinity conflict" in said:
        claims = [
            str(each["persistentVolumeClaim"].get("claimName"))
            for each in get(_homeless(run)[0], ("spec", "volumes"), []) or []
            if each.get("persistentVolumeClaim")
        ]
        lacks = "has no volume yet" if "unbound" in said else "has its volume where the pods may not run"
        return Seen(
            sentence=f"Its pods wait for a claim that {lacks} (they mount {', '.join(claims)}).",
            evidence=evidence,
            todo=f"kubectl describe pvc -n {run.namespace} says what the claim waits for: a StorageClass, a provisioner, a volume.",
        )
    return None


@cause(
    "pods/no-matching-node",
    "stuck",
    rule="nodes/pool-takes-pods",
    todo="Compare nodeSelector, affinity and tolerations of the pod template with the nodes: kubectl get nodes --show-labels.",
)
def no_matching_node(run: Snapshot) -> Seen | None:
    """No node has the labels that its pods ask for, or only nodes whose taints they do not tolerate"""
    said, evidence = _told(run)
    match = re.match(r"0/(\d+) nodes are available: (.*)", said)
    if not match or any(phase(pod) == "Running" for pod in run.pods):
        return None
    total, reasons = int(match[1]), match[2]
    counted = re.findall(r"(\d+) node\(s\) (didn't match Pod's node affinity/selector|had untolerated taint(?:\(s\)| \{[^}]*\})?)", reasons)
    if not counted or sum(int(count) for count, _ in counted) < total:
        return None
    selector = get(_homeless(run)[0], ("spec", "nodeSelector"), {}) or {}
    wanted = f" (nodeSelector {', '.join(f'{key}: {value}' for key, value in sorted(selector.items()))})" if selector else ""
    why = "; ".join(f"{count} of {total} {reason}" for count, reason in counted)
    return Seen(sentence=f"No node is one that its pods may run on{wanted}: {why}.", evidence=evidence)


@cause(
    "pods/split",
    "stuck",
    todo="Let a queue start all pods or none (Kueue, or Volcano's gang scheduling), and make room or delete the run: it holds what it has "
    "until TF_DISCOVERY_TIMEOUT ends it.",
)
def split(run: Snapshot) -> Seen | None:
    """Some of its pods run and hold their resources, while the others have no node"""
    running = [pod for pod in run.pods if phase(pod) == "Running"]
    said, evidence = _told(run)
    if not running or not said:
        return None
    reason = said.partition(": ")[2] or said
    return Seen(
        sentence=f"{len(running)} of its {run.workers} pods run and hold their resources; worker "
        f"{', '.join(str(index(pod)) for pod in _homeless(run)[:8])} has no node: {stop(reason)}",
        evidence=evidence,
    )


@cause(
    "pods/no-room",
    "waiting",
    todo="Wait, or look who holds the nodes: kubectl describe nodes. With a queue it would wait without pods.",
)
def no_room(run: Snapshot) -> Seen | None:
    """The nodes are full at this time"""
    said, evidence = _told(run)
    lacks = re.findall(r"\d+ Insufficient ([^,.\s]+(?:\.[a-z]+/[^,.\s]+)?)", said)
    if not lacks:
        return None
    return Seen(
        sentence=f"Its pods wait for a node with enough {' and '.join(dict.fromkeys(lacks))}: the nodes would be large enough, "
        "but others hold them.",
        evidence=evidence,
    )


@cause(
    "pods/unschedulable",
    "stuck",
    todo="kubectl describe pods -n {namespace} -l jobset.sigs.k8s.io/jobset-name={name} says more.",
)
def unschedulable(run: Snapshot) -> Seen | None:
    """The scheduler finds no node for its pods for another reason, in its own words"""
    said, evidence = _told(run)
    if not said:
        return None
    return Seen(sentence=f"The scheduler finds no node for {_of(run, len(_homeless(run)))}: {stop(said)}", evidence=evidence)


@cause(
    "pods/image",
    "stuck",
    todo="Look at the image's name and tag, at imagePullSecrets, and whether the node reaches the registry.",
)
def image(run: Snapshot) -> Seen | None:
    """The image cannot be pulled"""
    found = _waiting(
        run, "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable"
    )
    if not found:
        return None
    pod, reason, message = found
    called = next((each.get("image") for each in statuses(pod) if get(each, ("state", "waiting", "reason")) == reason), "")
    told = next((str(each.get("message")) for each in run.events(pod, "Failed") if "pull image" in str(each.get("message"))), message)
    cause_ = re.split(r"failed to do request: |failed to resolve reference \"[^\"]*\": ", told)[-1]
    return Seen(
        sentence=f"The image {called} cannot be pulled on node {get(pod, ('spec', 'nodeName'))} ({reason}): {stop(cause_)}",
        evidence=(f"Pod {name(pod)}: {told}",),
    )


@cause(
    "pods/config",
    "stuck",
    rule="refs/objects-exist",
)
def config(run: Snapshot) -> Seen | None:
    """A container's configuration names a ConfigMap, a Secret or a key that does not exist"""
    found = _waiting(run, "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "PostStartHookError")
    if not found:
        return None
    pod, reason, message = found
    missing = re.search(_OBJECT, message)
    evidence = (f"Pod {name(pod)}: {reason}: {message}",)
    if missing:
        what = f"{_WORDS[missing[1]]} {missing[2]}"
        return Seen(sentence=f"Its containers need the {what}, which does not exist in namespace {run.namespace}.", evidence=evidence)
    known = "couldn't find key" in message
    return Seen(
        sentence=f"The container of worker {index(pod)} ({name(pod)}) cannot be made ({reason}): {stop(message)}",
        evidence=evidence,
        todo=None if known else "Mend what the message names in the runtime or in another run.",
        rule=None if known else "",
    )


@cause("pods/volume", "stuck", rule="refs/objects-exist")
def volume(run: Snapshot) -> Seen | None:
    """A volume of its pods cannot be mounted"""
    events = [
        (pod, each)
        for pod in run.pods
        if phase(pod) == "Pending" and get(pod, ("spec", "nodeName"))
        for each in run.events(pod, "FailedMount", "FailedAttachVolume", "FailedMapVolume")
    ]
    own = [each for each in events if f"{run.name}-tls-config" in str(each[1].get("message"))]
    if not events or (own and not run.older(own[0][0], _PATIENCE)):  # Trainer makes that one while the pods start
        return None
    pod, event = events[0]
    said = " ".join(str(event.get("message")).split())
    evidence = (f"Pod {name(pod)}: {event['reason']}: {said}",)
    if missing := re.search(_OBJECT, said):
        what = f"{_WORDS[missing[1]]} {missing[2]}"
        return Seen(sentence=f"Its pods mount the {what}, which does not exist in namespace {run.namespace}.", evidence=evidence)
    return Seen(
        sentence=f"A volume of worker {index(pod)} cannot be mounted on node {get(pod, ('spec', 'nodeName'))}: {stop(said)}",
        evidence=evidence,
        rule="",
        todo="Mend what the message names: the path on the node, the storage, its driver.",
    )


@cause(
    "pods/sandbox",
    "stuck",
    todo="Look at the node's container runtime and network plug-in, and at the network attachment that the pods' annotation names.",
)
def sandbox(run: Snapshot) -> Seen | None:
    """The node cannot make the pod's sandbox: its network, mostly"""
    events = [(pod, each) for pod in run.pods if phase(pod) == "Pending" for each in run.events(pod, "FailedCreatePodSandBox")]
    if not events:
        return None
    pod, event = events[0]
    said = str(event.get("message")).removeprefix("Failed to create pod sandbox: ").rpartition(" desc = ")[2]
    return Seen(
        sentence=f"Node {get(pod, ('spec', 'nodeName'))} cannot make the sandbox of worker {index(pod)}: {stop(said)}",
        evidence=(f"Pod {name(pod)}: FailedCreatePodSandBox: {event.get('message')}",),
    )


@cause(
    "pods/node-lost",
    "stuck",
    todo="Look at the node: kubectl describe node {node}. Its pods are deleted after five minutes, and the gang is restarted; a pod "
    "that stays "
    "Terminating goes when the node comes back or is deleted.",
)
def node_lost(run: Snapshot) -> Seen | None:
    """A node that its pods run on is not ready"""
    for pod in run.pods:
        node = run.one("Node", str(get(pod, ("spec", "nodeName"), "")))
        ready = next((each for each in get(node, ("status", "conditions"), []) or [] if each.get("type") == "Ready"), None)
        if node and ready and ready.get("status") != "True":
            return Seen(
                sentence=f"Node {name(node)}, which worker {index(pod)} runs on, has not been ready for "
                f"{run.age(ready.get('lastTransitionTime'))}: "
                f"{stop(ready.get('message'))}",
                evidence=(f"Node {name(node)}: Ready={ready.get('status')}: {ready.get('reason')}",),
                todo=f"Look at the node: kubectl describe node {name(node)}. Its pods are deleted after five minutes, and the gang is "
                f"restarted; "
                "a pod that stays Terminating goes when the node comes back or is deleted.",
            )
    return None


@cause(
    "pods/terminating",
    "waiting",
    todo="A pod saves and ends within its terminationGracePeriodSeconds; one that stays longer is on a node that does not answer.",
)
def terminating(run: Snapshot) -> Seen | None:
    """Its pods are being deleted"""
    leaving = [pod for pod in run.pods if get(pod, ("metadata", "deletionTimestamp"))]
    if not leaving:
        return None
    due = min(str(get(pod, ("metadata", "deletionTimestamp"))) for pod in leaving)
    late = f", the first {run.age(due)} after it should have ended" if run.older(due, _PATIENCE) else ""
    return Seen(sentence=f"{len(leaving)} of its {run.workers} pods are being deleted{late}; new ones come when they are gone.")


@cause("pods/missing", "waiting", todo="Ask again in a minute.")
def missing(run: Snapshot) -> Seen | None:
    """Not all of its pods are there yet"""
    if run.unknown("pods") or len(run.pods) >= run.workers or any(phase(pod) == "Succeeded" for pod in run.pods):
        return None
    return Seen(sentence=f"{len(run.pods)} of its {run.workers} pods are there so far.")


@cause("pods/starting", "waiting", todo="Ask again in a minute; a large image takes minutes on a node that does not have it.")
def starting(run: Snapshot) -> Seen | None:
    """Its pods have nodes and are being started"""
    pending = [pod for pod in run.pods if phase(pod) == "Pending"]
    if not pending:
        return None
    placed = [pod for pod in pending if get(pod, ("spec", "nodeName"))]
    pulls = [pod for pod in placed if (latest := run.events(pod)) and latest[0].get("reason") == "Pulling"]
    doing = f"; node {get(pulls[0], ('spec', 'nodeName'))} has pulled the image for {run.age(pulls[0])}" if pulls else ""
    return Seen(sentence=f"{len(pending)} of its {run.workers} pods are being started, the first for {run.age(pending[0])}{doing}.")


UNPLACED: tuple[Cause, ...] = (gated, no_scheduler, never_fits, claim)
PLACED: tuple[Cause, ...] = (node_lost, image, config, volume, sandbox, terminating)
LATER: tuple[Cause, ...] = (no_matching_node, split, no_room, unschedulable)
STARTING: tuple[Cause, ...] = (missing, starting)
