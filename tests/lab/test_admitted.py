"""What a namespace, a claim, a class or a node keeps from a run that its queue lets in, at the real API server, scheduler and Kueue.

As in test_gate_and_cluster each fault is an edit of a repository's runtime and a small run of it, and all start together.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gate.evaluate import Evaluator
from tests.lab.conftest import Cluster, present
from tests.lab.live import Manifest, Namespace, surroundings
from tests.lab.test_gate_and_cluster import GPU_LIMIT, HOLD, REQUESTS, Fault, made, queued, together
from tests.lab.test_nodes import admitted, unscheduled
from tests.lab.test_queues import said as why
from tests.lab.test_roles import found, jobs, told

LIMIT = "      limits:\n        memory: 128Mi"
LARGE = [(REQUESTS, REQUESTS.replace("128Mi", "2Gi")), (LIMIT, LIMIT.replace("128Mi", "2Gi"))]
DEVICE = "\n        rdma/hca_shared_devices_a: '1'"
NEVER = "                restartPolicy: Never\n"
TEMPLATE = "template:\n              spec:\n                auto"
AWAY = {
    "topologyKey": "topology.kubernetes.io/rack",  # which no node has: nothing is kept away
    "labelSelector": {"matchLabels": {"example.com/app": "apart"}},
}
APART = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [AWAY]}}}
pytestmark = pytest.mark.lab

FAULTS = {
    "over-share": Fault(
        rules={"resources/namespace-quota"},
        edits=[GPU_LIMIT],
    ),
    "over-range": Fault(
        rules={"resources/limit-range"},
        edits=LARGE,
    ),
    "over-range-unqueued": Fault(
        rules={"resources/limit-range"},
        edits=LARGE,
        overlay="no-ib-volcano",
        run={"queue": None},
    ),
    "under-range": Fault(
        rules={"resources/limit-range"},
        edits=[(REQUESTS, REQUESTS.replace("128Mi", "32Mi")), (LIMIT, LIMIT.replace("128Mi", "32Mi"))],
    ),
    "over-ratio": Fault(
        rules={"resources/limit-range"},
        edits=[(LIMIT, LIMIT.replace("128Mi", "512Mi"))],
    ),
    "one-pod": Fault(
        rules={"pods/shared-claim"},
        edits=[("claimName: checkpoints", "claimName: of-one-pod")],
    ),
    "no-runtime-class": Fault(
        rules={"refs/objects-exist"},
        edits=[(NEVER, f"{NEVER}                runtimeClassName: gpus\n")],
    ),
    "no-class": Fault(
        rules={"refs/objects-exist"},
        edits=[(NEVER, f"{NEVER}                priorityClassName: urgnet\n")],
    ),
    "other-device": Fault(
        rules={"infiniband/as-the-cluster"},
        edits=[(REQUESTS, f"{REQUESTS}{DEVICE}"), (LIMIT, f"{LIMIT}{DEVICE}")],
        run={"queue": None},  # which Kueue would not admit
    ),
    "apart": Fault(
        rules={"nodes/gang-fits"},
        given=[(TEMPLATE, TEMPLATE.replace("spec:\n", "metadata: {labels: {example.com/app: apart}}\n              spec:\n", 1))],
        edits=[("topology.kubernetes.io/rack", "kubernetes.io/hostname")],
        run={"pod": APART},
    ),
}


def limits(namespace: str) -> list[Manifest]:
    """A quota and a range that no run here meets but those with a fault."""
    quota = {"hard": {"requests.nvidia.com/gpu": "1"}}
    bounds = {"max": {"memory": "1Gi"}, "min": {"memory": "64Mi"}, "maxLimitRequestRatio": {"memory": "2"}}
    ranges = {"limits": [{"type": "Container", **bounds}]}
    head = {"apiVersion": "v1", "metadata": {"name": "share", "namespace": namespace}}
    return [{**head, "kind": "ResourceQuota", "spec": quota}, {**head, "kind": "LimitRange", "spec": ranges}]


def claim(namespace: str) -> list[Manifest]:
    """A claim for one pod, and its volume."""
    *_, volume, shared = surroundings(namespace)
    volume["metadata"]["name"] = shared["spec"]["volumeName"] = f"{namespace}-of-one-pod"
    shared["metadata"]["name"] = volume["spec"]["claimRef"]["name"] = "of-one-pod"
    for each in (volume, shared):
        each["spec"]["accessModes"] = ["ReadWriteOncePod"]
    return [volume, shared]


@pytest.fixture(scope="module")
def runs(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Namespace]:
    """All faults, started together."""
    volumes: list[Manifest] = []

    def objects(namespace: str) -> list[Manifest]:
        volumes.extend(claim(namespace))
        cluster.apply(*limits(namespace), *volumes)
        return [each for name, fault in FAULTS.items() for each in made(name, namespace, of=fault)]

    with together(cluster, request, objects) as namespace, present(cluster, *volumes):
        yield namespace


@pytest.mark.parametrize("name", FAULTS)
def test_the_gate_tells_the_fault_and_nothing_else(name: str, tmp_path: Path, opa: Evaluator) -> None:
    told(name, FAULTS[name], tmp_path, opa, [*limits("somewhere"), *claim("somewhere")])


def test_above_the_quota_of_its_namespace_one_worker_holds_its_gpu_and_the_other_is_never_made(runs: Namespace) -> None:
    runs.wait("the reason", lambda: "exceeded quota: share, requested: requests.nvidia.com/gpu=1" in said(runs, "over-share"))
    runs.wait("one runs", lambda: runs.running("over-share") == 1)
    assert admitted(runs, "over-share")
    assert len(runs.pods("over-share")) == 1


COUNTED = {  # what a quota counts: how much it allows, how many pods are made of two, and what is said
    "pods": ("1", 1, "exceeded quota: share, requested: pods=1, used: pods=1, limited: pods=1"),
    "limits.memory": ("200Mi", 1, "exceeded quota: share, requested: limits.memory=128Mi"),
    "count/jobs.batch": ("0", 0, "exceeded quota: share, requested: count/jobs.batch=1"),
}


@pytest.mark.parametrize("counted", COUNTED)
def test_above_another_quota_of_its_namespace_a_run_is_made_in_part_or_not(
    counted: str, cluster: Cluster, request: pytest.FixtureRequest, tmp_path: Path, opa: Evaluator
) -> None:
    allowed, pods, reason = COUNTED[counted]

    def objects(namespace: str, amount: str = allowed) -> list[Manifest]:
        quota, _ = limits(namespace)
        quota["spec"]["hard"] = {counted: amount}
        return [quota, *made("counted", namespace, of=Fault(rules=set(), script=HOLD))]

    sound, fault = (found(objects("somewhere", amount), tmp_path / amount, opa) for amount in ("100Gi", allowed))
    assert fault - sound == {"resources/namespace-quota"}
    with together(cluster, request, objects) as namespace:
        namespace.wait("the reason", lambda: reason in said(namespace, "counted") + str(namespace.events("counted")))
        assert admitted(namespace, "counted")
        assert len(namespace.pods("counted")) == pods


def test_a_quota_of_what_a_container_does_not_say_takes_no_pod(
    cluster: Cluster, request: pytest.FixtureRequest, tmp_path: Path, opa: Evaluator
) -> None:
    def objects(namespace: str, counted: str) -> list[Manifest]:
        quota, _ = limits(namespace)
        quota["spec"]["hard"] = {counted: "100Gi"}
        return [quota, *made("unlimited", namespace, of=Fault(rules=set()))]

    sound, fault = (found(objects("somewhere", counted), tmp_path / counted, opa) for counted in ("limits.memory", "limits.cpu"))
    assert fault - sound == {"resources/namespace-quota"}
    with together(cluster, request, lambda name: objects(name, "limits.cpu")) as namespace:
        namespace.wait("the reason", lambda: "failed quota: share: must specify limits.cpu for: node" in said(namespace, "unlimited"))
        assert admitted(namespace, "unlimited")
        assert namespace.pods("unlimited") == []


@pytest.mark.parametrize("name", ["over-range", "under-range"])
def test_a_container_out_of_the_range_of_its_namespace_is_not_admitted(name: str, runs: Namespace) -> None:
    runs.wait("the reason", lambda: "resources didn't satisfy LimitRange constraints" in why(runs, name))
    assert not admitted(runs, name)
    assert runs.pods(name) == []


def test_a_container_out_of_the_ratio_of_its_namespace_is_admitted_and_not_made(runs: Namespace) -> None:
    runs.wait("the reason", lambda: "memory max limit to request ratio per Container is 2" in said(runs, "over-ratio"))
    assert admitted(runs, "over-ratio")
    assert runs.pods("over-ratio") == []


def test_a_container_above_the_range_of_its_namespace_is_not_made(runs: Namespace) -> None:
    runs.wait("the reason", lambda: "maximum memory usage per Container is 1Gi" in said(runs, "over-range-unqueued"))
    assert runs.pods("over-range-unqueued") == []


def test_of_the_pods_that_mount_a_claim_for_one_pod_one_starts(runs: Namespace) -> None:
    runs.wait("one runs", lambda: runs.running("one-pod") == 1)
    runs.wait("the scheduler has looked", lambda: unscheduled(runs, "one-pod", "ReadWriteOncePod access mode"))
    assert sorted(pod["status"]["phase"] for pod in runs.pods("one-pod")) == ["Pending", "Running"]


def test_without_its_runtime_class_no_pod_is_made(runs: Namespace) -> None:
    runs.wait("the reason", lambda: 'pod rejected: RuntimeClass "gpus" not found' in said(runs, "no-runtime-class"))
    assert admitted(runs, "no-runtime-class")
    assert runs.pods("no-runtime-class") == []


def test_without_its_priority_class_a_run_has_no_workload(runs: Namespace) -> None:
    runs.wait("another run is queued", lambda: ("TrainJob", "apart") in queued(runs))
    assert ("TrainJob", "no-class") not in queued(runs)
    assert runs.pods("no-class") == []


def test_pods_that_keep_one_another_away_have_a_node_each(runs: Namespace) -> None:
    runs.wait("one runs", lambda: runs.running("apart") == 1)
    runs.wait("the scheduler has looked", lambda: unscheduled(runs, "apart", "didn't match pod anti-affinity rules"))
    assert admitted(runs, "apart")
    assert sorted(pod["status"]["phase"] for pod in runs.pods("apart")) == ["Pending", "Running"]


def test_pods_that_ask_for_another_clusters_device_stay_pending(runs: Namespace) -> None:
    runs.wait("the scheduler has looked", lambda: unscheduled(runs, "other-device", "Insufficient rdma/hca_shared_devices_a"))
    assert [pod["status"]["phase"] for pod in runs.pods("other-device")] == ["Pending", "Pending"]


def said(runs: Namespace, run: str) -> str:
    """Why the Jobs of a run make no pods."""
    return "\n".join(event for job in jobs(runs, run) for event in runs.events(job["metadata"]["name"]))
