"""What Argo CD itself, asked offline, makes of our own health checks: over recorded objects of real runs, where there are any."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from gate import process, tools
from lab import binaries, doctor

SNAPSHOTS = Path(__file__).resolve().parent.parent / "why" / "fixtures"
APPLICATION, CLAIM = ("argoproj.io/v1alpha1", "Application"), ("v1", "PersistentVolumeClaim")
DONE = {"sync": {"status": "Synced"}, "health": {"status": "Healthy"}, "operationState": {"phase": "Succeeded"}}
CASES: list[tuple[tuple[str, str], dict[str, Any], str, str]] = [
    (APPLICATION, {}, "Progressing", "not compared yet"),
    (APPLICATION, DONE, "Healthy", ""),
    (APPLICATION, DONE | {"sync": {"status": "OutOfSync"}}, "Progressing", "not synced yet"),
    (APPLICATION, DONE | {"health": {"status": "Degraded", "message": "a queue"}}, "Degraded", "a queue"),
    (
        APPLICATION,
        DONE | {"health": {"status": "Suspended"}},
        "Healthy",
        "something in it is suspended, a queue perhaps: runs come and wait there",
    ),
    (APPLICATION, DONE | {"operationState": {"phase": "Failed", "message": "no kind"}}, "Degraded", "no kind"),
    (APPLICATION, {"sync": {"status": "Unknown"}, "conditions": [{"type": "ComparisonError", "message": "no tag"}]}, "Degraded", "no tag"),
    (CLAIM, {"phase": "Pending"}, "Healthy", "waits for its first pod"),
    (CLAIM, {"phase": "Bound"}, "Healthy", ""),
    (CLAIM, {"phase": "Lost"}, "Degraded", "its volume is lost"),
]
FAILED = "jobset failed due to reaching max number of restarts (first failed job: {}-node-0)"
PREEMPTED = (
    "Preempted to accommodate a workload (UID: bd1eb20d-3d2f-4c99-8751-9aa4c1362ad9, JobUID: 28da7baf-7ac5-4765-ba65-503eba77ba48) "
    "due to prioritization in the ClusterQueue; preemptor path: /faults-small; preemptee path: /faults-small"
)
UNSCHEDULABLE = "tasks in gang unschedulable: pod group is not ready"
# snapshot, kind, how its name begins, health, message
RECORDED: list[tuple[str, str, str, str, str]] = [
    ("name-too-long", "TrainJob", "a-name", "Progressing", "Trainer has made nothing of it yet"),
    ("suspended", "TrainJob", "suspended", "Suspended", "TrainJob is suspended"),
    ("quota-held", "TrainJob", "quota-held", "Suspended", "TrainJob is suspended; its Workload in LocalQueue small says why"),
    ("patch-dropped", "TrainJob", "patch-dropped", "Progressing", "node is suspended"),
    ("pod-security", "TrainJob", "pod-security", "Progressing", "node has no pods yet"),
    ("no-claim", "TrainJob", "no-claim", "Progressing", "node waits for its pods to be ready"),
    ("initializer", "TrainJob", "initializer", "Progressing", "prepare runs, node has no pods yet"),
    ("gathering", "TrainJob", "gathering", "Progressing", "node runs"),
    ("deleting", "TrainJob", "stays", "Progressing", "Pending deletion"),  # Argo CD's own word, whatever we say
    ("failed", "TrainJob", "failed", "Degraded", FAILED.format("failed")),
    ("pod-evicted", "TrainJob", "running", "Degraded", FAILED.format("running")),  # was held by Kueue before
    ("deadline", "TrainJob", "deadline", "Degraded", "TrainJob exceeded its active deadline"),
    ("complete", "TrainJob", "complete", "Healthy", "jobset completed successfully"),
    ("request-only", "JobSet", "request-only", "Progressing", "JobSet has made nothing of it yet"),
    ("suspended", "JobSet", "suspended", "Suspended", "jobset is suspended"),
    ("initializer", "JobSet", "initializer", "Progressing", "prepare: 1 of 1 Jobs ready or done, node: 0 of 1 Jobs ready or done"),
    ("restarted", "JobSet", "restarted", "Progressing", "attempt 2, 1 of 3 restarts used, node: 1 of 1 Jobs ready or done"),
    ("failed", "JobSet", "failed", "Degraded", FAILED.format("failed")),
    ("complete", "JobSet", "complete", "Healthy", "jobset completed successfully"),
    ("no-local-queue", "Workload", "trainjob-no-local-queue", "Suspended", "LocalQueue nowhere doesn't exist"),
    (
        "quota-held",
        "Workload",
        "trainjob-quota-held",
        "Suspended",
        "couldn't assign flavors to pod set node: insufficient unused quota for cpu in flavor faults-any, 20m more needed",
    ),
    (
        "preempted",
        "Workload",
        "trainjob-preempted",
        "Suspended",
        "couldn't assign flavors to pod set node: insufficient unused quota for cpu in flavor faults-any, 20m more needed; evicted: "
        + PREEMPTED,
    ),
    ("deactivated", "Workload", "trainjob-preempted", "Suspended", "deactivated: spec.active is false; evicted: " + PREEMPTED),
    (
        "check-pending",
        "Workload",
        "trainjob-check-pending",
        "Suspended",
        "Quota reserved in ClusterQueue faults-checked; AdmissionCheck faults-check is Pending",
    ),
    ("new", "Workload", "trainjob-running", "Progressing", "The workload is admitted"),
    ("pod-evicted", "Workload", "trainjob-running", "Degraded", FAILED.format("running")),
    ("complete", "Workload", "trainjob-complete", "Healthy", "jobset completed successfully"),
    ("complete", "ClusterQueue", "faults-wide", "Healthy", "Can admit new workloads"),
    ("drained", "ClusterQueue", "faults-wide", "Suspended", "Can't admit new workloads: is stopped."),
    (
        "no-flavor",
        "ClusterQueue",
        "faults-flavorless",
        "Degraded",
        "Can't admit new workloads: references missing ResourceFlavor(s): nowhere.",
    ),
    (
        "no-check",
        "ClusterQueue",
        "faults-checkless",
        "Degraded",
        "Can't admit new workloads: references missing AdmissionCheck(s): nowhere.",
    ),
    ("complete", "LocalQueue", "wide", "Healthy", "Can submit new workloads to localQueue"),
    ("drained", "LocalQueue", "wide", "Suspended", "Can't submit new workloads to clusterQueue faults-wide: ClusterQueueIsInactive"),
    (
        "no-cluster-queue",
        "LocalQueue",
        "dangling",
        "Degraded",
        "Can't submit new workloads to clusterQueue faults-dangling: ClusterQueueDoesNotExist",
    ),
    ("volcano-running", "Queue", "faults-small", "Healthy", ""),
    ("volcano-closed", "Queue", "faults-closing", "Suspended", "Closed: it lets no new pod group in"),
    (
        "volcano-queue-full",
        "PodGroup",
        "volcano-queue-full",
        "Suspended",
        f"waits in Queue faults-small: 2/2 {UNSCHEDULABLE}, 2 Pending, 2 minAvailable; Pending: 2 Unschedulable",
    ),
    ("volcano-too-large", "PodGroup", "volcano-unnamed", "Progressing", "waits for nodes: Volcano has not said why"),
    ("volcano-running", "PodGroup", "volcano-running", "Progressing", "2 pods run, the gang needs 2"),
    ("volcano-unnamed", "PodGroup", "volcano-unnamed", "Degraded", f"1/1 {UNSCHEDULABLE}, 1 Running, 2 minAvailable"),
]
TRAINED = {"progressPercentage": 42, "estimatedRemainingSeconds": 90, "metrics": [{"name": "accuracy", "value": "0.93"}]}
# recorded object, as above; what no snapshot holds is changed in it; health, message
CHANGED: list[tuple[str, str, str, dict[str, Any], str, str]] = [
    (
        "gathering",
        "TrainJob",
        "gathering",
        {"status": {"trainerStatus": TRAINED}},
        "Progressing",
        "node runs, 42 %, 90 s left, accuracy 0.93",
    ),
    (
        "failed",
        "TrainJob",
        "failed",
        {"status": {"trainerStatus": TRAINED}},
        "Degraded",
        FAILED.format("failed") + ", 42 %, accuracy 0.93",
    ),
    ("new", "Workload", "trainjob-running", {"status": {"conditions": []}}, "Progressing", "Kueue has not looked at it yet"),
    ("complete", "ClusterQueue", "faults-wide", {"metadata": {"generation": 9}}, "Progressing", "Kueue has not looked at it yet"),
    ("complete", "LocalQueue", "wide", {"metadata": {"generation": 9}}, "Progressing", "Kueue has not looked at it yet"),
    (
        "complete",
        "LocalQueue",
        "wide",
        {
            "status": {
                "conditions": [
                    {"type": "Active", "status": "False", "reason": "Stopped", "message": "LocalQueue is stopped", "observedGeneration": 1}
                ]
            }
        },
        "Suspended",
        "LocalQueue is stopped",
    ),
    ("volcano-closed", "Queue", "faults-closing", {"status": {"state": "Closing"}}, "Suspended", "Closing: it lets no new pod group in"),
    ("volcano-closed", "Queue", "faults-closing", {"status": {"state": "Unknown"}}, "Degraded", "Volcano does not know its state"),
    ("volcano-closed", "Queue", "faults-closing", {"status": {"state": ""}}, "Progressing", "Volcano has not looked at it yet"),
    (
        "volcano-running",
        "PodGroup",
        "volcano-running",
        {"status": {"phase": "Completed", "succeeded": 2}},
        "Healthy",
        "all its pods are done",
    ),
    (
        "volcano-running",
        "PodGroup",
        "volcano-running",
        {"status": {"phase": "Completed", "failed": 1}},
        "Degraded",
        "all its pods are over, 1 of them failed",
    ),
]


@pytest.fixture(scope="module")
def settings(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ConfigMap argocd-cm, as the lab's Argo CD gets it."""
    built = process.run([tools.binary("kustomize"), "build", root / "clusters" / "lab" / "argocd" / "root"])
    found = next(each for each in yaml.safe_load_all(built) if each["kind"] == "ConfigMap")
    file = tmp_path_factory.mktemp("settings") / "argocd-cm.yaml"
    file.write_text(yaml.safe_dump(found), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def argocd() -> Path:
    """Argo CD's program; where the lab cannot run it is not worth the minutes that it takes to build."""
    if "argocd" in binaries.missing() and (faults := doctor.faults()):
        pytest.skip(f"Argo CD is not built, which `lab build` does: {'; '.join(faults)}")
    return binaries.made("argocd", Console(stderr=True))


@pytest.mark.parametrize(("kind", "status", "health", "message"), CASES)
def test_health(
    kind: tuple[str, str], status: dict[str, Any], health: str, message: str, argocd: Path, settings: Path, tmp_path: Path
) -> None:
    found = {"apiVersion": kind[0], "kind": kind[1], "metadata": {"name": "x"}, "status": status}
    assert _health(argocd, settings, tmp_path, found) == (health, message)


@pytest.mark.parametrize(("snapshot", "kind", "name", "health", "message"), RECORDED)
def test_health_of_what_was_recorded(
    snapshot: str, kind: str, name: str, health: str, message: str, argocd: Path, settings: Path, tmp_path: Path
) -> None:
    assert _health(argocd, settings, tmp_path, _recorded(snapshot, kind, name)) == (health, message)


@pytest.mark.parametrize(("snapshot", "kind", "name", "change", "health", "message"), CHANGED)
def test_health_of_what_was_not_recorded(
    snapshot: str, kind: str, name: str, change: dict[str, Any], health: str, message: str, argocd: Path, settings: Path, tmp_path: Path
) -> None:
    found = _recorded(snapshot, kind, name)
    for part, fields in change.items():
        found[part] |= fields
    assert _health(argocd, settings, tmp_path, found) == (health, message)


def _recorded(snapshot: str, kind: str, name: str) -> dict[str, Any]:
    objects: list[dict[str, Any]] = json.loads((SNAPSHOTS / f"{snapshot}.json").read_text(encoding="utf-8"))["objects"]
    return next(each for each in objects if each["kind"] == kind and each["metadata"]["name"].startswith(name))


def _health(argocd: Path, settings: Path, folder: Path, found: dict[str, Any]) -> tuple[str, str]:
    file = folder / "object.yaml"
    file.write_text(yaml.safe_dump(found), encoding="utf-8")
    command = [argocd, "admin", "settings", "resource-overrides", "health", file, "--argocd-cm-path", settings]
    said = dict(line.split(": ", 1) for line in process.run(command).splitlines())
    return said["STATUS"], said["MESSAGE"]
