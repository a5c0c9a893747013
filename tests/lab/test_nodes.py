"""What runs ask of the nodes, and what quotas promise of them, against the real Kueue, scheduler and kubelet.

The gate judges the very manifests that are applied, by facts that are the node's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import yaml

from gate.evaluate import Evaluator
from lab.model import facts
from tests.lab.conftest import Cluster, devices, own, present
from tests.lab.live import Manifest, Namespace
from tests.lab.test_claims import IMAGE
from tests.lab.test_gate_and_cluster import REQUESTS, RUNTIME, Fault, findings, made
from tests.lab.test_queues import KUEUE, cluster_queue, jobset, said
from tests.lab.test_queues import made as object_of

OS = "kubernetes.io/os"
ELSEWHERE = {"matchExpressions": [{"key": OS, "operator": "NotIn", "values": ["linux"]}]}
GANGS, PARTS = "example.com/gangs", "example.com/parts"  # devices that no other test asks for
GIVE_UP = "TF_DISCOVERY_TIMEOUT"
pytestmark = pytest.mark.lab


# --- no node takes the pods -------------------------------------------------------------------------------------

NOWHERE: dict[str, tuple[str, Manifest, str]] = {  # run: its queue, what is wrong with its pods, the rule
    "selected": ("plain", {"nodeSelector": {OS: "windows"}}, "nodes/pool-takes-pods"),
    "affine": (
        "plain",
        {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [ELSEWHERE]}}}},
        "nodes/pool-takes-pods",
    ),
    "flavored": ("windows", {}, "queue/flavor-has-nodes"),
    "racked": ("racks", {}, "queue/flavor-has-nodes"),
}


def queues(namespace: str, labels: str = "windows") -> dict[str, list[Manifest]]:
    """The queues of NOWHERE and what each needs; `labels`: the system that the flavors of two of them select."""
    levels = {"levels": [{"nodeLabel": "kubernetes.io/hostname"}]}
    flavors = {
        "plain": {},
        "windows": {"nodeLabels": {OS: labels}},
        "racks": {"nodeLabels": {OS: labels}, "topologyName": f"{namespace}-racks"},
    }
    found = {name: queue(namespace, name, flavor=flavor) for name, flavor in flavors.items()}
    found["racks"].append(object_of(KUEUE, "Topology", f"{namespace}-racks", levels))
    return found


def queue(namespace: str, name: str, *, flavor: Manifest, quota: dict[str, str] | None = None) -> list[Manifest]:
    """A LocalQueue, its ClusterQueue and its flavor, the last two named after the namespace as well."""
    whole = cluster_queue(f"{namespace}-{name}", (f"{namespace}-{name}",))
    (group,) = whole["spec"]["resourceGroups"]
    for resource, amount in (quota or {}).items():
        group["coveredResources"].append(resource)
        group["flavors"][0]["resources"].append({"name": resource, "nominalQuota": amount})
    local = object_of(KUEUE, "LocalQueue", name, {"clusterQueue": f"{namespace}-{name}"})
    local["metadata"]["namespace"] = namespace
    return [object_of(KUEUE, "ResourceFlavor", f"{namespace}-{name}", flavor), whole, local]


def judged(
    objects: list[Manifest],
    file: Path,
    opa: Evaluator,
    *,
    node: Manifest | None = None,
    nodes: Sequence[Manifest] = (),
    versions: dict[str, str] | None = None,
) -> set[tuple[str, str]]:
    """Rules and severities of what the gate says of these objects on a cluster as the lab's.

    `node`: what the facts say otherwise of its node; `nodes`: further pools; `versions`: those that are others than the lab's.
    """
    known = facts()
    pools = [known["nodes"][0] | {"labels": {OS: "linux"}} | (node or {}), *nodes]
    cluster = {"name": "lab", "versions": known["versions"] | (versions or {}), "nodes": pools, "network": known["network"], "external": []}
    (file_of_facts := file.with_name(f"cluster-{file.name}")).write_text(yaml.safe_dump(cluster), encoding="utf-8")
    return {(finding.rule, finding.severity) for finding in findings(objects, file, opa, file_of_facts)}


@pytest.fixture(scope="module")
def nowhere(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Namespace]:
    """The runs of NOWHERE, started together."""
    with own(cluster, request) as namespace:
        objects = [each for queue in queues(namespace.name).values() for each in queue]
        with present(cluster, *objects):
            cluster.apply(*(jobset(name, namespace.name, queue, asked) for name, (queue, asked, _) in NOWHERE.items()))
            yield namespace


@pytest.mark.parametrize("name", NOWHERE)
def test_the_gate_refuses_what_no_node_takes(name: str, tmp_path: Path, opa: Evaluator) -> None:
    queue, asked, rule = NOWHERE[name]
    around = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "somewhere"}}
    fault = [around, *queues("somewhere")[queue], jobset(name, "somewhere", queue, asked)]
    sound = [around, *queues("somewhere", "linux")[queue], jobset(name, "somewhere", queue, {})]
    before = judged(sound, tmp_path / "sound.yaml", opa)
    assert judged(fault, tmp_path / "fault.yaml", opa) - before == {(rule, "error")}


@pytest.mark.parametrize("name", ["selected", "affine", "flavored"])
def test_pods_that_no_node_takes_hold_their_quota_and_wait(name: str, nowhere: Namespace) -> None:
    nowhere.wait("the scheduler has looked", lambda: unscheduled(nowhere, name, "didn't match Pod's node affinity/selector"))
    assert admitted(nowhere, name)
    assert [pod["status"]["phase"] for pod in nowhere.pods(name)] == ["Pending"]
    nowhere.wait("the quota is taken", lambda: used(nowhere, NOWHERE[name][0]) != "0")


def test_a_flavor_of_no_nodes_that_has_a_topology_admits_nothing(nowhere: Namespace) -> None:
    nowhere.wait("Kueue has looked", lambda: "no topology domains at level: kubernetes.io/hostname" in said(nowhere, "racked"))
    assert nowhere.jobset("racked")["spec"]["suspend"]


# --- more quota than nodes --------------------------------------------------------------------------------------


def gang(namespace: str, name: str, queue: str, *, workers: int, parts: int) -> Manifest:
    """A run that holds so many devices for each worker until it is deleted."""
    made = jobset(name, namespace, queue, {})
    spec = made["spec"]["replicatedJobs"][0]["template"]["spec"]
    spec |= {"parallelism": workers, "completions": workers, "completionMode": "Indexed"}
    pod = spec["template"]["spec"] | {"terminationGracePeriodSeconds": 0, "automountServiceAccountToken": False}
    asked = {"cpu": "1m", PARTS: str(parts)}
    (container,) = pod["containers"]
    container |= {"image": IMAGE, "command": ["sleep", "infinity"], "resources": {"requests": asked, "limits": {PARTS: str(parts)}}}
    spec["template"]["spec"] = pod
    return made


def test_runs_that_are_admitted_above_the_nodes_hold_devices_and_wait_for_each_other(
    namespace: Namespace, tmp_path: Path, opa: Evaluator
) -> None:
    """Six devices and a quota for eleven: each run fits alone, and so do the first and either of the others."""
    there = {"allocatable": facts()["nodes"][0]["allocatable"] | {PARTS: "6"}}
    around = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace.name}}
    above, within = (queue(namespace.name, name, flavor={}, quota={PARTS: quota}) for name, quota in {"above": "11", "within": "6"}.items())

    def runs(queue: str) -> list[Manifest]:
        sizes = {"first": (1, 1), "large": (2, 3), "small": (2, 2)}
        return [gang(namespace.name, f"{name}-{queue}", queue, workers=size[0], parts=size[1]) for name, size in sizes.items()]

    before = judged([around, *within, *runs("within")], tmp_path / "sound.yaml", opa, node=there)
    found = judged([around, *above, *runs("above")], tmp_path / "fault.yaml", opa, node=there)
    assert found - before == {("queue/quota-has-nodes", "warning")}

    with devices(namespace.cluster, PARTS, 6), present(namespace.cluster, *above, *within):
        for run in runs("above"):
            namespace.apply(run)
            name = run["metadata"]["name"]
            namespace.wait(f"{name} is admitted and has a node for one worker", lambda name=name: namespace.running(name) == 1)
            assert admitted(namespace, name)
        namespace.kubectl("delete", "jobset", "first-above", "--cascade=foreground")
        for name in ("large-above", "small-above"):
            namespace.wait("the scheduler has looked", lambda name=name: unscheduled(namespace, name, f"Insufficient {PARTS}"))
        left = 6 - 3 * namespace.running("large-above") - 2 * namespace.running("small-above")
        assert left == 1  # the large one needs three more, the small one two
        namespace.kubectl("delete", "jobset", "large-above", "small-above", "--cascade=foreground")
        namespace.apply(*runs("within")[1:])
        namespace.wait("one runs as a whole", lambda: namespace.running("large-within") + namespace.running("small-within") == 2)
        (waits,) = (name for name in ("large-within", "small-within") if not namespace.pods(name))
        namespace.wait("the other one waits as a whole", lambda: f"insufficient unused quota for {PARTS}" in said(namespace, waits))
        namespace.kubectl("delete", "jobset", "large-within", "small-within", "--cascade=foreground")


# --- a node that comes late -------------------------------------------------------------------------------------


def test_workers_that_give_up_before_a_node_comes_cost_restarts_and_the_run(
    cluster: Cluster, namespace: Namespace, tmp_path: Path, opa: Evaluator
) -> None:
    """One of two has a node. That they go on where they wait longer: test_all_wait_for_a_worker_that_comes_late."""
    grows = {"allocatable": facts()["nodes"][0]["allocatable"] | {GANGS: "1"}, "maxCount": 2, "provisioningSeconds": 300}
    asked = [
        (REQUESTS, f'{REQUESTS}\n        {GANGS}: "1"'),
        ("      limits:\n        memory: 128Mi", f'      limits:\n        memory: 128Mi\n        {GANGS}: "1"'),
        ("maxRestarts: 3", "maxRestarts: 1"),
    ]
    hasty = Fault(rules=set(), given=asked, edits=[("value: '400'", "value: '2'")], run={"env": {GIVE_UP: "400"}, "queue": "late"})
    around = queue(namespace.name, "late", flavor={}, quota={"memory": "1Gi", GANGS: "2"})
    patient = judged([*around, *made("hasty", namespace.name, sound=True, of=hasty)], tmp_path / "sound.yaml", opa, node=grows)
    objects = made("hasty", namespace.name, of=hasty)
    assert judged([*around, *objects], tmp_path / "fault.yaml", opa, node=grows) - patient == {("nodes/provisioned-in-time", "error")}
    (runtime,) = (each for each in objects if each["kind"] == RUNTIME)
    with devices(cluster, GANGS, 1), present(cluster, runtime, *around):
        namespace.apply(*(each for each in objects if each is not runtime))
        namespace.wait("the run ended", lambda: namespace.ended("hasty") == "Failed")
        assert namespace.jobset("hasty")["status"]["restarts"] == 1
        assert any(
            f"Insufficient {GANGS}" in each["message"] for each in namespace.items("events", "--field-selector=reason=FailedScheduling")
        )
        words = ("worker 0 refuses: at its deadline, 1 of 2 workers, waiting for index 1", f"not started after 2 s ({GIVE_UP})")
        assert any(each in namespace.logs("hasty", index) for index, each in enumerate(words))  # as one or the other had the node
        namespace.kubectl("delete", "trainjob", "hasty")  # before its runtime


# --- what is looked at ------------------------------------------------------------------------------------------


def admitted(namespace: Namespace, run: str) -> bool:
    """Kueue has let a run in and given it its quota."""
    conditions = [condition for each in namespace.workloads(run) for condition in each.get("status", {}).get("conditions", [])]
    return any(each["type"] == "Admitted" and each["status"] == "True" for each in conditions)


def unscheduled(namespace: Namespace, run: str, reason: str) -> bool:
    """The scheduler has said of one of a run's pods that no node takes it, and why."""
    said = [each for pod in namespace.pods(run) for each in namespace.events(pod["metadata"]["name"])]
    return any(each.startswith("FailedScheduling") and reason in each for each in said)


def used(namespace: Namespace, queue: str) -> str:
    """How much of its first resource a queue has given away."""
    (flavor,) = namespace.cluster.get("clusterqueue", f"{namespace.name}-{queue}")["status"]["flavorsUsage"]
    return str(flavor["resources"][0]["total"])
