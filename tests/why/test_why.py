"""`gate why` over recorded snapshots of real runs (tests/why/record.py), each in one state, with the exact sentence."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import yaml

from gate import rules
from gate.why import CAUSES, cluster, diagnose, report
from gate.why.snapshot import Snapshot
from tests.command import gate

FIXTURES = Path(__file__).parent / "fixtures"
ROLE = Path(cluster.__file__).parent / "role.yaml"

# fixture: cause, rule, sentence
RECORDED: dict[str, tuple[str, str | None, str]] = {
    "above-limit": (
        "kueue/resources-refused",
        "resources/requests-below-limits",
        'Kueue will never admit it: resources validation failed: spec.podSets[0].template.spec.containers[0]: Invalid value: ["cpu"]: requests must not exceed its limits.',
    ),
    "alone-again": (
        "jobset/lone-restart",
        "jobset/backoff-limit-zero",
        "Worker 1 (alone-again-node-0-1-6rp7q) ended with status 1: ValueError: the loss is not a number; its Job (backoffLimit 6) replaces it alone, 2 times so far, and worker 0 cannot take it back and waits.",
    ),
    "bad-value": (
        "failed/bad-value",
        None,
        "It failed 46 s ago: worker 0 (bad-value-node-0-0-wdqht) was started with a value that cannot work: TF_DISCOVERY_TIMEOUT='soon' must be a whole number from 1 to 604800.",
    ),
    "check-pending": (
        "kueue/admission-check",
        None,
        "Its quota has been reserved for 82 s; it waits for the admission check faults-check (Pending).",
    ),
    "complete": ("trainer/complete", None, "It has been Complete for 80 s, 8 s after it was made."),
    "deactivated": (
        "kueue/deactivated",
        None,
        "Its Workload trainjob-preempted-6c689 is deactivated (spec.active: false), so Kueue leaves it alone until somebody activates it.",
    ),
    "deadline": (
        "trainer/deadline",
        None,
        "It failed 68 s ago: it was not done after its activeDeadlineSeconds of 20; Trainer has deleted its JobSet and pods.",
    ),
    "deleting": ("trainer/deleting", None, "It is being deleted, for 9 s now; foregroundDeletion holds it; 2 of its pods are there."),
    "drained": (
        "kueue/queue-stopped",
        "queue/not-stopped",
        "ClusterQueue faults-wide is stopped (stopPolicy: HoldAndDrain), so it admits nothing.",
    ),
    "dying": (
        "jobset/dying",
        None,
        "Worker 1 (restarting-node-0-1-29x76) ended with status 1: ValueError: the loss is not a number; JobSet restarts the gang (restart 1 of 50).",
    ),
    "evicted": (
        "failed/evicted",
        None,
        'It failed 49 s ago: worker 0 (evicted-node-0-0-gbm7f) was evicted from node lab: Usage of EmptyDir volume "scratch" exceeds the limit "1Mi".',
    ),
    "failed": (
        "failed/crashed",
        None,
        "It failed for good after 1 of 1 restarts 34 s ago: worker 1 (failed-node-0-1-dfj8c) ended with status 1: ValueError: the loss is not a number.",
    ),
    "gated": ("pods/gated", None, "2 of its 2 pods are held back by scheduling gates (example.com/wait)."),
    "gathering": (
        "training/gathering",
        None,
        "1 of its 2 workers has not been told to start; worker 0 says: 1 of 2 workers, waiting for index 1. In worker 1 tfrun has written nothing: does it run there?",
    ),
    "held-by": ("training/runs", None, "It trains: 2 of its 2 pods have run for 87 s; last sign of it 85 s ago."),
    "in-place": (
        "jobset/in-place-restart",
        "jobset/restart-policy-never",
        "The workers did not agree on who they are; worker 1 (in-place-node-0-1-rbsz4) said: worker 0 refuses: index 1 is taken by another process: 2 workers have started; the kubelet restarts the container in place (restartPolicy OnFailure), 3 times so far, and JobSet counts nothing.",
    ),
    "initializer": ("jobset/waits-for-another", None, "Its workers wait until prepare (Complete) is reached."),
    "job-deadline": (
        "jobset/restart-loop",
        "jobset/deadline-ends-the-run",
        "It is at attempt 3 of at most 51: its gang was restarted 2 times, on average after 19 s, the last time 15 s ago; the attempt before it was not done after the activeDeadlineSeconds of its Job or its pods.",
    ),
    "job-deadline-failed": (
        "failed/deadline",
        None,
        "It failed 85 s ago: its Job job-deadline-failed-node-0 was not done after its activeDeadlineSeconds of 20.",
    ),
    "jobset-managed": (
        "trainer/left-alone",
        "run/started",
        "The JobSet of its runtime has managedBy kueue.x-k8s.io/multikueue: it holds its quota, and JobSet's controller makes no Job of it.",
    ),
    "jobset-queued": (
        "kueue/label-place",
        "queue/kueue-label-place",
        "Kueue's queue label (stopped) is on its JobSet and not on the TrainJob: Kueue suspends what Trainer starts again and again.",
    ),
    "killed": ("failed/stopped", None, "It failed 55 s ago: worker 1 (killed-node-0-1-5mqjq) was ended by SIGKILL (status 137)."),
    "name-too-long": (
        "trainer/refused",
        "jobset/name-fits",
        "Trainer cannot make its JobSet: its name is too long for the Jobs and pods that are made of it.",
    ),
    "never-fits": (
        "kueue/never-fits",
        "queue/within-quota",
        "It asks for 50m of cpu, and ClusterQueue faults-small has 40m in all (flavor faults-any): it will never be admitted as it is.",
    ),
    "new": ("pods/starting", None, "2 of its 2 pods are being started, the first for 5 s."),
    "no-agreement": (
        "failed/no-agreement",
        "trainer/worker-count",
        "It failed 30 s ago: the workers did not agree on who they are; worker 0 (no-agreement-node-0-0-6rjcp) said: worker 0 refuses: at its deadline, 2 of 3 workers, waiting for index 2.",
    ),
    "no-ancestor": (
        "training/ancestor-label",
        "trainer/ancestor-label",
        "No Job of the TrainingRuntime no-ancestor bears the label that Trainer looks for, so command, env, numNodes, resourcesPerNode of the TrainJob are ignored: 1 pod(s) instead of 2 run what the runtime says.",
    ),
    "no-answer": (
        "training/not-answering",
        None,
        "Worker 1 finds worker 0 in DNS, but gets no answer from it; tfrun has written nothing there.",
    ),
    "no-check": (
        "kueue/queue-inactive",
        "queue/admission-check-exists",
        "ClusterQueue faults-checkless is inactive, so it admits nothing: an AdmissionCheck of it does not exist.",
    ),
    "no-claim": ("pods/claim", "refs/objects-exist", "Its pods mount the claim nowhere, which does not exist in namespace faults."),
    "no-cluster-queue": (
        "kueue/cluster-queue-missing",
        "queue/cluster-queue-exists",
        "It waits in LocalQueue dangling, whose ClusterQueue faults-dangling does not exist.",
    ),
    "no-command": (
        "failed/cannot-start",
        None,
        'It failed 43 s ago: the command of worker 0 (no-command-node-0-0-4nm26) cannot be run: exec: "trian": executable file not found in $PATH.',
    ),
    "no-config-map": (
        "pods/volume",
        "refs/objects-exist",
        "Its pods mount the ConfigMap nowhere, which does not exist in namespace faults.",
    ),
    "no-flavor": (
        "kueue/queue-inactive",
        "queue/flavor-exists",
        "ClusterQueue faults-flavorless is inactive, so it admits nothing: a ResourceFlavor of it does not exist.",
    ),
    "no-folder": (
        "pods/volume",
        None,
        'A volume of worker 0 cannot be mounted on node lab: MountVolume.SetUp failed for volume "code" : hostPath type check failed: /nowhere is not a directory.',
    ),
    "no-hostnames": (
        "training/not-in-dns",
        "jobset/dns-hostnames",
        "Worker 0 does not find the others in DNS: its JobSet has enableDNSHostnames: false, so no worker has a name.",
    ),
    "no-image": (
        "pods/image",
        None,
        'The image registry.invalid/tensorflow:1 cannot be pulled on node lab (ImagePullBackOff): Head "https://registry.invalid/v2/tensorflow/manifests/1": dial tcp: lookup registry.invalid on 10.255.255.53:53: dial udp 10.255.255.53:53: connect: network is unreachable.',
    ),
    "no-local-queue": (
        "kueue/local-queue-missing",
        "queue/local-queue-exists",
        "It waits for the LocalQueue nowhere, which does not exist in namespace faults.",
    ),
    "no-multikueue": (
        "trainer/left-alone",
        "run/started",
        "Its spec.managedBy hands it to kueue.x-k8s.io/multikueue, but its queue has no admission check of MultiKueue: it holds its quota, and nobody makes anything of it.",
    ),
    "no-neighbour": (
        "pods/unschedulable",
        None,
        "The scheduler finds no node for its 2 pods: 0/1 nodes are available: 1 node(s) didn't match pod affinity rules.",
    ),
    "no-priority-class": (
        "kueue/priority-class-missing",
        "queue/workload-priority-class-exists",
        "Kueue makes no Workload for it, because there is no WorkloadPriorityClass nowhere, which its label names: it stays suspended, and no queue knows of it.",
    ),
    "no-program": (
        "failed/cannot-start",
        None,
        "It failed 61 s ago: the command of worker 1 (no-program-node-0-1-stkm9) cannot be run: trian: no such command.",
    ),
    "no-room": ("pods/no-room", None, "Its pods wait for a node with enough cpu: the nodes would be large enough, but others hold them."),
    "no-sandbox": (
        "pods/sandbox",
        None,
        "Node lab cannot make the sandbox of worker 0: failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: write /proc/sys/net/ipv4/ping_group_range: invalid argument: unknown.",
    ),
    "no-scheduler": (
        "pods/no-scheduler",
        None,
        "Its pods have waited 62 s for a scheduler called vocalno, and none of that name has looked at them.",
    ),
    "no-secret": ("pods/config", "refs/objects-exist", "Its containers need the Secret nowhere, which does not exist in namespace faults."),
    "no-topology-place": (
        "kueue/no-topology-place",
        None,
        "No domain of the topology faults-racks has a place for its workers at this time.",
    ),
    "node-selector": (
        "pods/no-matching-node",
        "nodes/pool-takes-pods",
        "No node is one that its pods may run on (nodeSelector pool: v100): 1 of 1 didn't match Pod's node affinity/selector.",
    ),
    "not-covered": (
        "kueue/resource-not-covered",
        "queue/resources-covered",
        "It asks for nvidia.com/gpu, which ClusterQueue faults-wide does not cover, so it will never be admitted.",
    ),
    "not-in-dns": (
        "training/not-in-dns",
        "jobset/publish-not-ready-addresses",
        "Worker 1 does not find the others in DNS: its JobSet has publishNotReadyAddresses: false, so no worker is in DNS before it is ready, and none gets ready alone.",
    ),
    "not-selected": (
        "kueue/namespace-not-selected",
        "queue/namespace-selected",
        "ClusterQueue faults-elsewhere does not select the namespace faults, so it will never admit this run.",
    ),
    "other-manager": (
        "trainer/left-alone",
        "run/started",
        "Its spec.managedBy hands it to kueue.x-k8s.io/multikueue, but it has no queue label: nobody makes anything of it.",
    ),
    "out-of-memory": (
        "failed/out-of-memory",
        None,
        "It failed 45 s ago: worker 1 (out-of-memory-node-0-1-zkx8q) was killed for using more memory than its limit of 64Mi.",
    ),
    "over-quota": (
        "jobset/pods-refused",
        None,
        "The API server refuses 1 of its 2 pods: the ResourceQuota one-pod of the namespace is exceeded (requested: pods=1, used: pods=1, limited: pods=1).",
    ),
    "patch-dropped": (
        "trainer/not-applied",
        "versions/kueue-keeps-patches",
        "It may run, but Trainer cannot unsuspend its JobSet: the JobSet differs from the one that Trainer now makes, and that field is immutable; it holds its quota all the while.",
    ),
    "pod-deadline-failed": (
        "failed/deadline",
        None,
        "It failed 84 s ago: worker 0 (pod-deadline-failed-node-0-0-pjxlm) was not done after its pod's activeDeadlineSeconds of 20.",
    ),
    "pod-evicted": (
        "failed/pod-deleted",
        "jobset/restart-whole-gang",
        "It failed 4 s ago: its pod running-node-0-0-wbgsr was deleted from outside, by a drain or by hand, and its JobSet may not restart (maxRestarts 0).",
    ),
    "pod-security": (
        "jobset/pods-refused",
        "pods/pod-security",
        "The API server refuses its pods: its namespace enforces Pod Security baseline: host namespaces (hostNetwork=true).",
    ),
    "pods-queued": (
        "pods/gated",
        "queue/kueue-label-place",
        "2 of its 2 pods are held back by scheduling gates (kueue.x-k8s.io/admission, kueue.x-k8s.io/topology): the queue label is on the pods, so Kueue queues each of them alone.",
    ),
    "jobset-complete": ("jobset/complete", None, "It has been Completed for 21 s."),
    "jobset-failed": (
        "jobset/failed",
        None,
        "It failed 9 s ago, and may not restart (maxRestarts 0): worker 0 (js-failed-worker-0-0-hf8gk) ended with status 1, and wrote nothing.",
    ),
    "jobset-label-on-job": (
        "kueue/label-place",
        "queue/kueue-label-place",
        "Kueue's queue label (lq) is on its Job template and not on the JobSet: Kueue queues each Job by itself, and stops again and again what JobSet starts.",
    ),
    "jobset-held": (
        "kueue/never-fits",
        "queue/within-quota",
        "It asks for 4 of nvidia.com/gpu and 1 for what stands before it, and ClusterQueue faults-tour has 3 in all (flavor ml): it will never be admitted as it is.",
    ),
    "preempted": (
        "kueue/preempted",
        None,
        "It was stopped 2 min ago to make room for faults/preempting, and waits in ClusterQueue faults-small for quota again.",
    ),
    "queue-stopped": (
        "kueue/queue-stopped",
        "queue/not-stopped",
        "ClusterQueue faults-stopped is stopped (stopPolicy: Hold), so it admits nothing.",
    ),
    "quota-held": (
        "kueue/quota-held",
        None,
        "It waits in ClusterQueue faults-small for 20m more of cpu (flavor faults-any); held by faults/held-by.",
    ),
    "request-only": (
        "jobset/jobs-refused",
        "resources/extended-limits",
        "JobSet cannot make its Jobs: it asks for an extended resource in requests only.",
    ),
    "restart-loop": (
        "jobset/restart-loop",
        None,
        "It is at attempt 3 of at most 51: its gang was restarted 2 times, on average after 9 s, the last time 1 s ago; what the earlier attempts wrote is gone with their pods.",
    ),
    "restarted": (
        "training/runs",
        None,
        "It trains: 2 of its 2 pods have run for 42 s (attempt 2 of at most 4); last sign of it 39 s ago.",
    ),
    "root-refused": (
        "pods/config",
        None,
        'The container of worker 0 (root-refused-node-0-0-fvnhx) cannot be made (CreateContainerConfigError): container\'s runAsUser breaks non-root policy (pod: "root-refused-node-0-0-fvnhx_faults(a7eff0ad-fed9-4a83-9983-0ec28076eb91)", container: node).',
    ),
    "runtime-gone": (
        "trainer/runtime-missing",
        "trainer/runtime-exists",
        "Its TrainingRuntime runtime-gone does not exist, and Trainer's webhook refuses every change of it, also Kueue's that would start it: it can never start.",
    ),
    "split": (
        "pods/split",
        None,
        "1 of its 2 pods run and hold their resources; worker 1 has no node: 1 node(s) didn't match pod anti-affinity rules.",
    ),
    "stays": ("pods/terminating", None, "2 of its 2 pods are being deleted; new ones come when they are gone."),
    "strategy-late": (
        "failed/crashed",
        "script/strategy-first",
        "It failed 43 s ago: worker 0 (strategy-late-node-0-0-bk75k) ended with status 1: RuntimeError: Collective ops must be configured at program startup.",
    ),
    "suspended": (
        "trainer/suspended",
        "run/started",
        "It has been suspended (spec.suspend: true) for 87 s, and no queue holds it: somebody must let it go on.",
    ),
    "tainted": (
        "kueue/flavor-does-not-fit",
        "queue/flavor-takes-pods",
        "No flavor of ClusterQueue faults-tainted fits its pods: untolerated taint {example.com/gpu yes NoSchedule <nil>} in flavor faults-tainted.",
    ),
    "too-large": (
        "pods/never-fits",
        "nodes/gang-fits",
        "A worker asks for 10 of cpu, and the largest node has 2: no node can ever hold it.",
    ),
    "volcano-closed": ("volcano/queue-closed", None, "Its Volcano queue faults-closing is Closed, so it takes no gang in."),
    "volcano-never-fits": (
        "volcano/never-fits",
        "queue/volcano-capability",
        "Its gang of 5 needs 50m of cpu, and the Volcano queue faults-small may use 40m in all: it is never scheduled.",
    ),
    "volcano-no-node": (
        "pods/never-fits",
        "nodes/gang-fits",
        "A worker asks for 2.2 of cpu, and the largest node has 2: no node can ever hold it.",
    ),
    "volcano-no-queue": (
        "trainer/refused",
        "queue/volcano-queue-exists",
        "Trainer cannot make its JobSet: Volcano has no queue faults-nowhere.",
    ),
    "volcano-no-room": ("volcano/cluster-full", None, "Its gang waits outside: the cluster has not enough cpu for it at this time."),
    "volcano-node-selector": (
        "volcano/unschedulable",
        None,
        "Volcano does not find a node for each of its 2 pods: 0/1 nodes are unavailable: 1 node(s) didn't match Pod's node affinity/selector.",
    ),
    "volcano-queue-full": (
        "volcano/queue-full",
        None,
        "Its gang waits in the Volcano queue faults-small for cpu; used by faults/volcano-running.",
    ),
    "volcano-queue-gone": (
        "volcano/queue-missing",
        "queue/volcano-queue-exists",
        "Its PodGroup names the Volcano queue faults-closing, which does not exist.",
    ),
    "volcano-running": ("training/runs", None, "It trains: 2 of its 2 pods have run for 85 s; last sign of it 83 s ago."),
    "volcano-too-large": (
        "pods/never-fits",
        "nodes/gang-fits",
        "A worker asks for 10 of cpu, and the largest node has 2: no node can ever hold it.",
    ),
    "volcano-unnamed": (
        "volcano/scheduler-name",
        "queue/volcano-scheduler-name",
        "Its pods are not Volcano's but default-scheduler's, so they are placed one by one: 1 of 2 run and hold their resources, 1 wait.",
    ),
    "worker-count": (
        "training/worker-count",
        "trainer/worker-count",
        "Its workers wait for 3 workers (TF_NUM_WORKERS), but the run has 2 pods: index 2 will never come.",
    ),
}


def load(fixture: str) -> Snapshot:
    return Snapshot.load(json.loads((FIXTURES / f"{fixture}.json").read_text(encoding="utf-8")))


def edited(fixture: str, edit: Callable[[dict[str, Any]], None]) -> Snapshot:
    """A recorded snapshot in which something else had happened."""
    document = json.loads((FIXTURES / f"{fixture}.json").read_text(encoding="utf-8"))
    edit(document)
    return Snapshot.load(document)


def later(found: Snapshot, **by: float) -> Snapshot:
    """The same snapshot, asked about at a later time."""
    return Snapshot.load({**found.dump(), "now": (found.now + timedelta(**by)).isoformat()})


def without(*kinds: str) -> Callable[[dict[str, Any]], None]:
    return lambda document: document.update(objects=[each for each in document["objects"] if each["kind"] not in kinds])


def each(document: dict[str, Any], kind: str) -> Iterator[dict[str, Any]]:
    return (found for found in document["objects"] if found["kind"] == kind)


@pytest.mark.parametrize("fixture", sorted(RECORDED))
def test_a_recorded_run_is_named_rightly(fixture: str) -> None:
    found = diagnose(load(fixture))
    assert (found.cause, found.rule, found.sentence) == RECORDED[fixture]
    assert found.state == "fine" or found.todo


def test_every_fixture_is_judged() -> None:
    assert {path.stem for path in FIXTURES.glob("*.json")} == set(RECORDED)


# States that a shared lab cannot be brought into: a recorded one with one thing changed.
def _no_managed_by(document: dict[str, Any]) -> None:
    for job in each(document, "TrainJob"):
        del job["spec"]["managedBy"]


def _no_kueue(document: dict[str, Any]) -> None:
    without("Workload", "LocalQueue", "ClusterQueue")(document)
    document["groups"].remove("kueue.x-k8s.io")


def _still_suspended(document: dict[str, Any]) -> None:
    for job in each(document, "TrainJob"):
        job["spec"]["suspend"] = True


def _silent_scheduler(document: dict[str, Any]) -> None:
    without("Event")(document)
    for pod in each(document, "Pod"):
        pod["status"]["conditions"] = [{"type": "PodReadyToStartContainers", "status": "False"}]


def _node_lost(document: dict[str, Any]) -> None:
    for node in each(document, "Node"):
        for found in node["status"]["conditions"]:
            if found["type"] == "Ready":
                found.update(status="Unknown", reason="NodeStatusUnknown", message="Kubelet stopped posting node status.")


def _unfinished(document: dict[str, Any]) -> None:
    for job in each(document, "TrainJob"):
        job["status"]["conditions"] = []


def _check_failed(document: dict[str, Any]) -> None:
    for workload in each(document, "Workload"):
        for found in workload.get("status", {}).get("conditions", []):
            if found["type"] == "Evicted":
                found.update(reason="AdmissionCheck", message="At least one admission check is false")


def _down(document: dict[str, Any]) -> None:
    for deployment in each(document, "Deployment"):
        deployment["status"].pop("availableReplicas", None)


def _both(*edits: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    def edit(document: dict[str, Any]) -> None:
        for change in edits:
            change(document)

    return edit


def _job_failed(document: dict[str, Any]) -> None:
    for job in each(document, "Job"):
        for found in job["status"]["conditions"]:
            found["type"] = "Failed"
    document["objects"] = [found for found in document["objects"] if "deletionTimestamp" not in found["metadata"]]


def _jobset_suspended(document: dict[str, Any]) -> None:
    for job in each(document, "TrainJob"):
        job["spec"]["suspend"] = False


def _disrupted(document: dict[str, Any]) -> None:
    for pod in each(document, "Pod"):
        pod["status"].update(reason="Terminated", message="Pod was terminated in response to imminent node shutdown.")
        pod["status"]["conditions"].append(
            {
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "TerminationByKubelet",
                "message": "Pod was terminated in response to imminent node shutdown.",
                "lastTransitionTime": pod["metadata"]["creationTimestamp"],
            }
        )


def _tainted(document: dict[str, Any]) -> None:
    for pod in each(document, "Pod"):
        for found in pod["status"].get("conditions", []):
            if found.get("message"):
                found["message"] = "0/1 nodes are available: 1 node(s) had untolerated taint(s). preemption: not helpful."


def _unread(document: dict[str, Any]) -> None:
    without("Pod", "Job", "Event")(document)
    document["unread"] = ["could not read jobs of namespace faults: forbidden", "could not read pods of namespace faults: forbidden"]
    document["logs"] = []


def _elsewhere(document: dict[str, Any]) -> None:
    for workload in each(document, "Workload"):
        workload["status"]["admissionChecks"] = [{"name": "elsewhere", "state": "Ready", "message": "The workload got reservation"}]


def _managed(document: dict[str, Any]) -> None:
    for jobset in each(document, "JobSet"):
        jobset["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"


def _dns_of_the_node(document: dict[str, Any]) -> None:
    for pod in each(document, "Pod"):
        pod["spec"]["dnsPolicy"] = "Default"


def _two_at_a_time(document: dict[str, Any]) -> None:
    for job in each(document, "Job"):
        job["spec"]["completions"] = 3


def _may_restart(document: dict[str, Any]) -> None:
    for jobset in each(document, "JobSet"):
        jobset["spec"]["failurePolicy"]["maxRestarts"] = 3
    for job in each(document, "TrainJob"):
        job["status"]["conditions"] = []


# fixture, what differs, seconds later, cause, sentence
DERIVED: list[tuple[str, Callable[[dict[str, Any]], None], int, str, str]] = [
    ("other-manager", _no_managed_by, -80, "trainer/new", "It was made 8 s ago, and Trainer has not made its JobSet yet."),
    (
        "other-manager",
        _no_managed_by,
        3600,
        "trainer/controller-down",
        "Trainer has done nothing about it in 61 min: there is neither a JobSet nor an event.",
    ),
    (
        "other-manager",
        _both(_no_managed_by, _down),
        3600,
        "trainer/controller-down",
        "Trainer has done nothing about it in 61 min: there is neither a JobSet nor an event: "
        "Deployment kubeflow-system/kubeflow-trainer-controller-manager has no ready pod.",
    ),
    (
        "no-multikueue",
        _elsewhere,
        0,
        "trainer/other-manager",
        "Its spec.managedBy hands it to kueue.x-k8s.io/multikueue: the controllers of this cluster do nothing for it.",
    ),
    (
        "jobset-held",
        _managed,
        0,
        "trainer/other-manager",
        "Its spec.managedBy hands it to kueue.x-k8s.io/multikueue: the controllers of this cluster do nothing for it.",
    ),
    (
        "not-in-dns",
        _dns_of_the_node,
        0,
        "training/not-in-dns",
        "Worker 1 does not find the others in DNS: its pods have dnsPolicy Default and ask their node's DNS, which knows no pod.",
    ),
    (
        "worker-count",
        _two_at_a_time,
        0,
        "training/worker-count",
        "Its workers wait for 3 workers (TF_NUM_WORKERS), but its Job worker-count-node-0 runs 2 of 3 pods at a time: index 2 comes when "
        "another is done.",
    ),
    (
        "job-deadline-failed",
        _may_restart,
        -80,
        "jobset/dying",
        "Its Job job-deadline-failed-node-0 was not done after its activeDeadlineSeconds of 20; JobSet restarts the gang (restart 1 of 3).",
    ),
    (
        "quota-held",
        _no_kueue,
        0,
        "kueue/absent",
        "It is suspended for Kueue's queue small, but this cluster has no Kueue: nothing will ever start it.",
    ),
    (
        "quota-held",
        without("Workload"),
        0,
        "kueue/no-workload",
        "It waits in Kueue's queue small, but Kueue has made no Workload for it in 88 s.",
    ),
    (
        "quota-held",
        without("Workload"),
        -80,
        "kueue/waiting",
        "It waits in Kueue's queue small; Kueue has made no Workload for it yet.",
    ),
    (
        "held-by",
        _still_suspended,
        3600,
        "kueue/not-passed-on",
        "Kueue admitted it 61 min ago, but the TrainJob is still suspended: what Kueue writes does not reach it.",
    ),
    (
        "preempted",
        _check_failed,
        0,
        "kueue/evicted",
        "Kueue stopped it 2 min ago (AdmissionCheck): At least one admission check is false.",
    ),
    (
        "request-only",
        without("Event"),
        3600,
        "jobset/controller-down",
        "Its JobSet has been there for 61 min, but JobSet has made no Job of it.",
    ),
    (
        "dying",
        _both(_job_failed, _down),
        300,
        "jobset/not-restarting",
        "Worker 1 (restarting-node-0-1-29x76) ended with status 1: ValueError: the loss is not a number; its Job failed 5 min ago, "
        "and JobSet has not restarted the gang: Deployment jobset-system/jobset-controller-manager has no ready pod.",
    ),
    ("quota-held", _jobset_suspended, 3600, "jobset/suspended", "The TrainJob may run, but its JobSet quota-held is suspended."),
    (
        "pod-security",
        without("Event"),
        3600,
        "jobset/no-pods",
        "Its Job pod-security-node-0 has been there for 61 min, but has no pod.",
    ),
    (
        "split",
        _node_lost,
        0,
        "pods/node-lost",
        "Node lab, which worker 0 runs on, has not been ready for 13 min: Kubelet stopped posting node status.",
    ),
    ("pod-security", without("Event"), -40, "pods/missing", "0 of its 2 pods are there so far."),
    (
        "volcano-queue-full",
        _silent_scheduler,
        3600,
        "volcano/scheduler-down",
        "Its pods have waited 61 min for Volcano's scheduler, which has said nothing about them.",
    ),
    ("volcano-node-selector", without(), -40, "volcano/scheduling", "Its gang has waited 36 s for Volcano to place it."),
    ("complete", _unfinished, 0, "training/ending", "Its 2 pods have succeeded; the TrainJob is not Complete yet."),
    (
        "held-by",
        without(),
        7200,
        "training/silent",
        "All its 2 pods run, but nothing was heard of the training for 2 h: it may hang.",
    ),
    (
        "pod-evicted",
        without("Event"),
        0,
        "trainer/failed",
        "It failed 4 s ago (ReachedMaxRestarts): jobset failed due to reaching max number of restarts (first failed job: running-node-0).",
    ),
    (
        "evicted",
        _disrupted,
        0,
        "failed/disrupted",
        "It failed 49 s ago: worker 0 (evicted-node-0-0-gbm7f) was stopped by the cluster "
        "(TerminationByKubelet: Pod was terminated in response to imminent node shutdown).",
    ),
    (
        "too-large",
        _both(without("Node"), _tainted),
        0,
        "pods/no-matching-node",
        "No node is one that its pods may run on: 1 of 1 had untolerated taint(s).",
    ),
    (
        "split",
        _unread,
        3600,
        "unknown",
        "What was read of it does not say why it does not train (could not read jobs of namespace faults: forbidden).",
    ),
]


@pytest.mark.parametrize(("fixture", "edit", "seconds", "cause", "sentence"), DERIVED, ids=[f"{each[3]}" for each in DERIVED])
def test_a_state_that_differs_in_one_thing(
    fixture: str, edit: Callable[[dict[str, Any]], None], seconds: int, cause: str, sentence: str
) -> None:
    found = diagnose(later(edited(fixture, edit), seconds=seconds))
    assert (found.cause, found.sentence) == (cause, sentence)


def test_every_cause_is_seen_and_every_rule_exists() -> None:
    seen = {cause for cause, _, _ in RECORDED.values()} | {cause for *_, cause, _ in DERIVED}
    assert seen == {each.id for each in CAUSES}
    assert {each.rule for each in CAUSES if each.rule} | {rule for _, rule, _ in RECORDED.values() if rule} <= set(rules.rules())


def test_every_cause_says_what_it_is_and_what_to_do() -> None:
    for each_ in CAUSES:
        assert each_.title, each_.id
        assert each_.todo or each_.rule or each_.state == "fine" or each_.id == "kueue/queue-inactive", each_.id


def test_a_snapshot_is_the_same_after_it_was_written() -> None:
    found = load("alone-again")
    assert Snapshot.load(json.loads(json.dumps(found.dump()))) == found


def test_the_role_allows_what_is_read_and_nothing_that_writes() -> None:
    role = yaml.safe_load(ROLE.read_text(encoding="utf-8"))
    allowed = {(group, plural) for rule in role["rules"] for group in rule["apiGroups"] for plural in rule["resources"]}
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"get", "list"}
    assert allowed == {(kind.group, kind.plural) for kind in cluster.KINDS.values()} | {("", "pods/log")}


def test_the_answer_begins_with_the_sentence() -> None:
    run = load("never-fits")
    assert (
        report.as_text(run, diagnose(run))
        == """✗ It asks for 50m of cpu, and ClusterQueue faults-small has 40m in all (flavor faults-any): it will never be admitted as
  it is.
  faults/never-fits: stuck, kueue/never-fits

TrainJob            never-fits                 Suspended        88 s
└ TrainingRuntime   plain                      there            97 s
└ Workload          trainjob-never-fits-10753  waits (Pending)  88 s
  └ LocalQueue      small                      active           97 s
    └ ClusterQueue  faults-small               active           97 s
└ JobSet            never-fits                 Suspended        88 s
  └ Job             never-fits-node-0          Suspended        88 s

what says so
  Workload trainjob-never-fits-10753: QuotaReserved=False: couldn't assign flavors to pod set node: insufficient quota
    for cpu in flavor faults-any, previously considered podsets requests (0) + current podset request (50m) > maximum
    capacity (40m)

what to do
  Ask for fewer nodes (trainer.numNodes) or less on each (trainer.resourcesPerNode), or raise the ClusterQueue's quota
    to what the cluster has.
  gate explain queue/within-quota"""
    )


def test_what_a_workload_writes_does_not_reach_the_terminal() -> None:
    hostile = "\x1b]0;owned\x07\u202eboo\nTrainJob  x  Complete"

    def write(document: dict[str, Any]) -> None:
        for log in document["logs"]:
            log["text"] = f"2026-11-29T20:37:05.886193683Z ValueError: {hostile}\n"
        for event in each(document, "Event"):
            event["message"] = hostile
        document["unread"] = [hostile]

    run = edited("failed", write)
    for text in (report.as_text(run, diagnose(run)), report.as_table([(run, diagnose(run))])):
        assert "�]0;owned��boo" in text
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]|^TrainJob  x", text, flags=re.MULTILINE)


def test_of_many_pods_those_are_shown_that_do_not_run() -> None:
    def many(document: dict[str, Any]) -> None:
        (first, *_) = each(document, "Pod")
        for number in range(20):
            pod = json.loads(json.dumps(first))
            pod["metadata"].update(name=f"held-by-node-0-{number}-copy", uid=str(number))
            pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] = str(number)
            pod["status"]["phase"] = "Pending" if number == 19 else "Running"
            document["objects"].append(pod)

    run = edited("held-by", many)
    lines = [line for line in report.as_text(run, diagnose(run)).splitlines() if "└ Pod" in line]
    assert len(lines) == 9
    assert "held-by-node-0-19-copy" in lines[-2]
    assert lines[-1].split() == ["└", "Pod", "and", "14", "more", "14", "Running"]


def test_the_table_begins_with_those_that_need_somebody() -> None:
    answers = [(run, diagnose(run)) for run in map(load, ("held-by", "quota-held", "never-fits", "failed"))]
    heads = [line.split()[1:3] for line in report.as_table(answers).splitlines() if not line.startswith(" ")]
    assert heads == [
        ["failed", "faults/failed"],
        ["stuck", "faults/never-fits"],
        ["waiting", "faults/quota-held"],
        ["fine", "faults/held-by"],
    ]


def test_json_is_one_object() -> None:
    run = load("no-claim")
    (found,) = json.loads(report.as_json([(run, diagnose(run))]))["trainjobs"]
    assert (found["namespace"], found["name"], found["state"], found["cause"]) == ("faults", "no-claim", "stuck", "pods/claim")
    assert found["rule"] == "refs/objects-exist"
    assert [each["kind"] for each in found["objects"]] == ["TrainJob", "TrainingRuntime", "JobSet", "Job", "Pod", "Pod"]


# --- the command line


def kubeconfig(folder: Path, server: str) -> Path:
    file = folder / "kubeconfig"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "none"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "training"}}],
        "current-context": "x",
    }
    file.write_text(yaml.safe_dump(config), encoding="utf-8")
    return file


def test_a_cluster_that_cannot_be_reached(tmp_path: Path) -> None:
    done = gate("why", "run-1", "--kubeconfig", kubeconfig(tmp_path, "http://127.0.0.1:1"))
    assert done.exit_code == 2
    assert re.fullmatch(r"gate: http://127\.0\.0\.1:1 cannot be reached: .*Connection refused.*\n", done.stderr)


def test_a_server_that_is_no_cluster(tmp_path: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        done = gate("why", "--kubeconfig", kubeconfig(tmp_path, f"http://127.0.0.1:{server.server_port}"))
        server.shutdown()
    assert done.exit_code == 2
    assert "has no Kubeflow Trainer" in done.stderr


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "the kubeconfig cannot be used"),
        ("a: [", "the kubeconfig cannot be used"),
        ("just words", "the kubeconfig cannot be used"),
        ("apiVersion: v1\nkind: Config\ncontexts: []\nclusters: []\nusers: []\n", "the kubeconfig cannot be used"),
        (None, "there is no such kubeconfig"),
    ],
)
def test_a_kubeconfig_that_is_none(content: str | None, said: str, tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    done = gate("why", "--kubeconfig", file)
    assert done.exit_code == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_context_that_is_none(tmp_path: Path) -> None:
    done = gate("why", "--kubeconfig", kubeconfig(tmp_path, "http://127.0.0.1:1"), "--context", "other")
    assert done.exit_code == 2
    assert "other" in done.stderr


def test_no_kubeconfig_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "nothing"))
    done = gate("why")
    assert done.exit_code == 2
    assert "the kubeconfig cannot be used" in done.stderr
