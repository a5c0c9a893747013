"""Placement on racks, by the real Volcano and the real Kueue with the topology of h100-ib, on nodes that KWOK pretends.

Rack `small` has one node and rack `large` has two, each with room for one pod: one rack alone holds two workers, none three.
A rack has a spine switch, and each node a leaf switch of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from gate import render
from gate.evaluate import Evaluator
from lab import binaries
from tests.conftest import ROOT
from tests.lab import programs
from tests.lab.conftest import own, present, running
from tests.lab.live import JOBSET_NAME, Cluster, Manifest, Namespace, deployed, surroundings, trainjob
from tests.lab.test_nodes import judged, unscheduled
from tests.lab.test_queues import REQUIRED, SLICE, SLICE_SIZE, jobset

RACK, LEAF, PRETENDED = "network.topology.nvidia.com/spine", "network.topology.nvidia.com/leaf", "example.com/pretended"
RACKS = ("small", "large")
NODES = {"small-0": "small", "large-0": "large", "large-1": "large"}
TAINT = {"key": PRETENDED, "value": "true", "effect": "NoSchedule"}
TOLERATION = {"key": PRETENDED, "operator": "Exists"}
STOCK = "volcano-stock"
READY = """conditions:
- {type: Ready, status: "True", reason: Pretended, message: "", lastHeartbeatTime: {{ Now | Quote }}, lastTransitionTime: {{ Now | Quote }}}
capacity: &all {cpu: "64", memory: 512Gi, nvidia.com/gpu: "8", nvidia.com/hostdev: "8", pods: "1"}
allocatable: *all
"""
POOLS = [  # the racks, as a cluster.yaml has them
    {
        "pool": rack,
        "count": [*NODES.values()].count(rack),
        "labels": {PRETENDED: "true", RACK: rack},
        "taints": [TAINT],
        "allocatable": {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "8", "nvidia.com/hostdev": "8", "pods": "1"},
    }
    for rack in RACKS
]
pytestmark = pytest.mark.lab


def test_volcano_places_a_gang_in_one_rack(place: Namespace, hypernodes: dict[str, str]) -> None:
    with started(place, "fits", workers=2, runtime=hypernodes["volcano"], queue=None):
        place.wait("both workers placed", lambda: len(racks(place, "fits")) == 2)
        assert racks(place, "fits") == ["large", "large"]


def test_a_hard_topology_holds_with_volcanos_plugin_only(place: Namespace, hypernodes: dict[str, str]) -> None:
    with started(place, "held", workers=3, runtime=hypernodes["volcano"], queue=None):
        place.wait("Volcano has looked", lambda: any("3/3 tasks in gang unschedulable" in each for each in place.events("held")))
        with started(place, "spread", workers=3, runtime=hypernodes[STOCK], queue=None):
            place.wait("all placed without the plugin", lambda: len(racks(place, "spread")) == 3)
            assert racks(place, "spread") == ["large", "large", "small"]
            assert racks(place, "held") == []


def test_what_a_hard_topology_of_another_tier_means(place: Namespace, hypernodes: dict[str, str], tmp_path: Path, opa: Evaluator) -> None:
    lowest = gang(place.name, "volcano", tmp_path)
    second = gang(place.name, "volcano", tmp_path, tier=2)
    here, above = ([hypernode(rack, tier) for rack in RACKS] for tier in (1, 2))

    def said(name: str, runtime: Manifest, nodes: list[Manifest], workers: int) -> set[tuple[str, str]]:
        run = run_of(name, workers=workers, runtime=runtime["metadata"]["name"])
        for each in run:
            each["metadata"]["namespace"] = place.name
        return judged([runtime, *run, *nodes], tmp_path / f"{name}.yaml", opa, nodes=POOLS)

    sound = said("sound", lowest, here, 2)
    assert said("too-large", lowest, here, 3) - sound == {("queue/volcano-topology", "error")}  # and so it is: see above
    assert said("too-high", second, here, 3) - sound == {("queue/volcano-topology", "warning")}
    with present(place.cluster, second), started(place, "too-high", workers=3, runtime=second["metadata"]["name"], queue=None):
        place.wait("all placed", lambda: len(racks(place, "too-high")) == 3)
        assert racks(place, "too-high") == ["large", "large", "small"]

    assert said("too-low", lowest, above, 2) - sound == {("queue/volcano-topology", "error")}
    assert said("nothing", lowest, [], 3) - sound == {("queue/volcano-topology", "warning")}
    names = [each["metadata"]["name"] for each in here]
    try:
        place.cluster.kubectl("delete", "hypernodes", *names)
        place.cluster.apply(*above)
        with started(place, "too-low", workers=2, runtime=hypernodes["volcano"], queue=None):
            place.wait("Volcano has looked", lambda: any("2/2 tasks in gang unschedulable" in each for each in place.events("too-low")))
            assert racks(place, "too-low") == []
        place.cluster.kubectl("delete", "hypernodes", *names)
        with started(place, "nothing", workers=3, runtime=hypernodes["volcano"], queue=None):
            place.wait("all placed", lambda: len(racks(place, "nothing")) == 3)
            assert racks(place, "nothing") == ["large", "large", "small"]
    finally:
        place.cluster.apply(*here)


def test_kueue_places_a_gang_in_one_rack(place: Namespace, topology: str) -> None:
    with started(place, "fits", workers=2, runtime=topology, queue="racks"):
        place.wait("both workers placed", lambda: len(racks(place, "fits")) == 2)
        assert racks(place, "fits") == ["large", "large"]


def test_kueue_holds_a_gang_to_one_rack_by_its_annotation_only(
    place: Namespace, topology: str, runtime: Manifest, tmp_path: Path, opa: Evaluator
) -> None:
    around = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place.name}}, *racks_queue(topology, place.name), runtime]

    def said(workers: int) -> set[tuple[str, str]]:
        run = run_of("held", workers=workers, runtime=topology, queue="racks")
        for each in run:
            each["metadata"]["namespace"] = place.name
        return judged([*around, *run], tmp_path / f"{workers}.yaml", opa, nodes=POOLS)

    assert said(3) - said(2) == {("queue/topology-has-room", "error")}
    with started(place, "held", workers=3, runtime=topology, queue="racks"):
        place.wait("Kueue has looked", lambda: "allows to fit only 2 out of 3 pod(s)" in str(place.items("workloads")))
        with started(place, "spread", workers=3, runtime="tensorflow-distributed", queue="racks"):
            place.wait("all placed without the annotation", lambda: len(racks(place, "spread")) == 3)
            assert racks(place, "spread") == ["large", "large", "small"]
            assert place.pods("held") == []


def test_kueue_holds_slices_to_one_leaf(place: Namespace, topology: str, tmp_path: Path, opa: Evaluator) -> None:
    """Two workers that must stand behind one leaf switch, which has one node; any two leaves do for slices of one."""
    (runtime,) = (each for each in deployed("lab/runtimes") if each["metadata"]["name"] == "tensorflow-distributed")
    around = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place.name}}, *racks_queue(topology, place.name), runtime]
    pools = [POOLS[0] | {"count": len(NODES), "labels": {PRETENDED: "true"}, "topology": {LEAF: 1}}]
    runs = {
        size: run_of(f"of-{size}", workers=2, runtime="tensorflow-distributed", queue="racks", annotations={SLICE: LEAF, SLICE_SIZE: size})
        for size in ("1", "2")
    }
    for each in (*runs["1"], *runs["2"]):
        each["metadata"]["namespace"] = place.name
    sound, fault = (judged([*around, *runs[size]], tmp_path / f"{size}.yaml", opa, nodes=pools) for size in runs)
    assert fault - sound == {("queue/topology-has-room", "error")}
    with applied(place, *runs["2"]):
        place.wait("Kueue has looked", lambda: "allow to fit any of 1 slice(s)" in str(place.items("workloads")))
        assert place.pods("of-2") == []
    with applied(place, *runs["1"]):
        place.wait("both workers placed", lambda: len(racks(place, "of-1")) == 2)


def test_a_request_above_the_pod_template_asks_for_nothing(place: Namespace, topology: str, tmp_path: Path, opa: Evaluator) -> None:
    """On the TrainJob, on the JobSet and on the Job."""
    (runtime,) = (each for each in deployed("lab/runtimes") if each["metadata"]["name"] == "tensorflow-distributed")
    around = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place.name}}, *racks_queue(topology, place.name), runtime]
    code, run = run_of("above", workers=3, runtime="tensorflow-distributed", queue="racks")
    sound = judged([*around, code, run], tmp_path / "sound.yaml", opa, nodes=POOLS)
    (patch,) = run["spec"]["runtimePatches"]
    template = patch["trainingRuntimeSpec"]["template"]
    template["metadata"] = {"annotations": {REQUIRED: RACK}}
    template["spec"]["replicatedJobs"][0]["template"]["metadata"] = {"annotations": {REQUIRED: RACK}}
    run["metadata"]["annotations"] = {REQUIRED: RACK}
    fault = judged([*around, code, run], tmp_path / "fault.yaml", opa, nodes=POOLS)
    assert fault - sound == {("queue/topology-request", "warning")}
    with applied(place, code, run):
        place.wait("all placed", lambda: len(racks(place, "above")) == 3)
        assert racks(place, "above") == ["large", "large", "small"]


def test_a_run_asks_for_another_level_by_the_same_annotation(place: Namespace, topology: str) -> None:
    run = one("TrainJob", deployed("h100-ib/runs/large-batch"))
    (job,) = run["spec"]["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    assert job["template"]["spec"]["template"]["metadata"]["annotations"] == {REQUIRED: LEAF}
    with started(place, "one-leaf", workers=2, runtime=topology, queue="racks", annotations={REQUIRED: LEAF}):
        place.wait("Kueue has looked", lambda: "allows to fit only 1 out of 2 pod(s)" in str(place.items("workloads")))
        assert place.pods("one-leaf") == []


def test_a_taint_that_pods_do_not_tolerate_keeps_them_pending(place: Namespace, tmp_path: Path, opa: Evaluator) -> None:
    untolerated = {"nodeSelector": {PRETENDED: "true"}}
    around = [each for each in surroundings(place.name) if "Volume" not in each["kind"]]
    around.append({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "lab"}})
    sound, fault = (
        jobset(name, place.name, "training", untolerated | more)
        for name, more in {"tolerated": {"tolerations": [TOLERATION]}, "untolerated": {}}.items()
    )
    before = judged([*around, sound], tmp_path / "sound.yaml", opa, nodes=POOLS)
    assert judged([*around, fault], tmp_path / "fault.yaml", opa, nodes=POOLS) - before == {("nodes/pool-takes-pods", "error")}
    with applied(place, fault):
        place.wait("the scheduler has looked", lambda: unscheduled(place, "untolerated", "had untolerated taint"))
        with applied(place, sound):
            place.wait("the other one is placed", lambda: len(racks(place, "tolerated")) == 1)
        assert racks(place, "untolerated") == []


def test_a_volume_of_one_node_keeps_away_from_the_pod_on_another(place: Namespace, tmp_path: Path, opa: Evaluator) -> None:
    """The attach/detach controller is real, the driver is not: that it has attached the volume to the first node is said by the test."""
    volume, claim = (dict(each) for each in surroundings(place.name)[-2:])
    name = f"{place.name}-of-one-node"
    volume["metadata"], claim["metadata"] = {"name": name}, {"name": "of-one-node", "namespace": place.name}
    del volume["spec"]["local"], volume["spec"]["nodeAffinity"], claim["spec"]["volumeName"]
    volume["spec"] |= {"csi": {"driver": "csi.example.com", "volumeHandle": name}, "storageClassName": name}
    volume["spec"]["claimRef"]["name"] = "of-one-node"
    claim["spec"]["storageClassName"] = name
    asked = {"nodeSelector": {PRETENDED: "true"}, "tolerations": [TOLERATION]}
    run = jobset("shared", place.name, "training", asked)
    spec = run["spec"]["replicatedJobs"][0]["template"]["spec"]
    spec |= {"parallelism": 2, "completions": 2, "completionMode": "Indexed"}
    pod = spec["template"]["spec"]
    pod["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "of-one-node"}}]
    pod["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    around = surroundings(place.name)
    told = []
    for mode in ("ReadWriteMany", "ReadWriteOnce"):
        volume["spec"]["accessModes"] = claim["spec"]["accessModes"] = [mode]
        told.append(judged([*around, volume, claim, run], tmp_path / f"{mode}.yaml", opa, nodes=POOLS))
    assert told[1] - told[0] == {("pods/shared-claim", "warning")}

    def attachments() -> list[Manifest]:
        return [
            each for each in place.cluster.get("volumeattachments")["items"] if each["spec"]["source"].get("persistentVolumeName") == name
        ]

    def refused() -> bool:
        said = [each for pod in place.pods("shared") for each in place.events(pod["metadata"]["name"])]
        return any(each.startswith("FailedAttachVolume: Multi-Attach error for volume") for each in said)

    with present(place.cluster, volume, claim), applied(place, run):
        place.wait("both pods have a node", lambda: len(racks(place, "shared")) == 2)
        place.wait("it is to be attached", lambda: bool(attachments()))
        [attached] = attachments()
        done = json.dumps({"status": {"attached": True}})
        place.cluster.kubectl(
            "patch", "volumeattachment", attached["metadata"]["name"], "--subresource=status", "--type=merge", f"--patch={done}"
        )
        place.wait("the other pod's turn", refused)
        assert len(attachments()) == 1


# --- the racks --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def place(cluster: Cluster, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Namespace]:
    """A namespace, and the racks for as long as the module runs. No other test's pods tolerate their nodes."""
    folder = tmp_path_factory.mktemp("kwok")
    stages = [
        stage(
            "Node", {"key": '.status.conditions.[] | select( .type == "Ready" ) | .status', "operator": "NotIn", "values": ["True"]}, READY
        ),
        stage("Pod", {"key": ".status.phase", "operator": "In", "values": ["Pending"]}, "phase: Running\n"),
        stage("Pod", {"key": ".metadata.deletionTimestamp", "operator": "Exists"}, None),
    ]
    (folder / "stages.yaml").write_text(yaml.safe_dump_all(stages), encoding="utf-8")
    nodes = [node(name, rack) for name, rack in NODES.items()]
    words = [
        f"--kubeconfig={cluster.lab.kubeconfig}",
        f"--config={folder / 'stages.yaml'}",
        f"--manage-nodes-with-label-selector={PRETENDED}=true",
    ]
    with present(cluster, *nodes), running([programs.binary("kwok"), *words], folder / "kwok.log"):
        cluster.kubectl("wait", "node", f"--selector={PRETENDED}", "--for=condition=Ready", "--timeout=60s")
        with own(cluster, request) as namespace:
            yield namespace


@pytest.fixture(scope="module")
def hypernodes(place: Namespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The racks as HyperNodes, and for each of two schedulers, the lab's and one of stock configuration, a runtime of hard topology."""
    folder = tmp_path_factory.mktemp("volcano")
    objects = [hypernode(rack) for rack in RACKS]
    objects += [gang(place.name, scheduler, folder) for scheduler in ("volcano", STOCK)]
    with present(place.cluster, *objects, *reader(place.name)), running(stock_scheduler(place, folder), folder / "scheduler.log"):
        yield {scheduler: f"{place.name}-{scheduler}" for scheduler in ("volcano", STOCK)}


@pytest.fixture(scope="module")
def topology(place: Namespace, runtime: Manifest) -> Iterator[str]:
    """The LocalQueue `racks`, whose flavor has the topology of h100-ib, and that cluster's runtime, which requires one rack."""
    name: str = runtime["metadata"]["name"]
    assert pods(runtime)["metadata"]["annotations"][REQUIRED] == RACK
    with present(place.cluster, *racks_queue(name, place.name), runtime):
        yield name


@pytest.fixture(scope="module")
def runtime(place: Namespace) -> Manifest:
    """The runtime of h100-ib."""
    found = one("ClusterTrainingRuntime", deployed("h100-ib/runtimes"))
    found["metadata"]["name"] = f"{place.name}-racks"
    return found


def racks_queue(name: str, namespace: str) -> list[Manifest]:
    """The topology of h100-ib, its flavor on the racks, and the queues."""
    levels, flavor = (one(kind, deployed("h100-ib/queues")) for kind in ("Topology", "ResourceFlavor"))
    levels["metadata"]["name"] = flavor["metadata"]["name"] = flavor["spec"]["topologyName"] = name
    flavor["spec"] |= {"nodeLabels": {PRETENDED: "true"}, "tolerations": [TOLERATION]}
    cluster_queue, local_queue = surroundings(namespace)[1:3]
    cluster_queue["metadata"]["name"] = local_queue["spec"]["clusterQueue"] = name
    cluster_queue["spec"]["resourceGroups"][0]["flavors"][0]["name"] = name
    local_queue["metadata"]["name"] = "racks"
    return [levels, flavor, cluster_queue, local_queue]


def one(kind: str, objects: list[Manifest]) -> Manifest:
    (found,) = [each for each in objects if each["kind"] == kind]
    return found


def node(name: str, rack: str) -> Manifest:
    labels = {PRETENDED: "true", RACK: rack, LEAF: name, "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    attaching = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}  # as kubelets have it
    metadata = {"name": name, "labels": labels, "annotations": attaching}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"taints": [TAINT]}}


def stage(kind: str, condition: Manifest, status: str | None) -> Manifest:
    """What KWOK does with a node or a pod on one: give it this status, or delete it."""
    gone = {"key": ".metadata.deletionTimestamp", "operator": "DoesNotExist"}
    selector = {"matchExpressions": [condition, gone] if status else [condition]}
    following: Manifest = {"statusTemplate": status} if status else {"delete": True}
    spec = {"resourceRef": {"apiGroup": "v1", "kind": kind}, "selector": selector, "next": following}
    name = f"{kind.lower()}-{'there' if status else 'gone'}"
    return {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": {"name": name}, "spec": spec}


def hypernode(rack: str, tier: int = 1) -> Manifest:
    nodes = [name for name, where in NODES.items() if where == rack]
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": f"rack-{rack}"},
        "spec": {"tier": tier, "members": [{"type": "Node", "selector": {"exactMatch": {"name": name}}} for name in nodes]},
    }


def gang(namespace: str, scheduler: str, folder: Path, tier: int = 1) -> Manifest:
    """The repository's runtime with its components volcano and volcano-topology, for one of the schedulers and up to a tier."""
    base = Path(os.path.relpath(ROOT / "base", folder))
    components = [str(base / "components" / name) for name in ("data-hostpath", "checkpoints", "volcano", "volcano-topology")]
    text = yaml.safe_dump({"resources": [str(base / "runtime")], "components": components})
    (folder / "kustomization.yaml").write_text(text, encoding="utf-8")
    (runtime,) = json.loads(json.dumps(render.build(folder)))
    runtime["metadata"]["name"] = f"{namespace}-{scheduler}{'' if tier == 1 else f'-{tier}'}"
    assert runtime["spec"]["podGroupPolicy"]["volcano"]["networkTopology"] == {"mode": "hard", "highestTierAllowed": 1}
    runtime["spec"]["podGroupPolicy"]["volcano"]["networkTopology"]["highestTierAllowed"] = tier
    runtime["spec"]["template"]["metadata"]["annotations"]["scheduling.volcano.sh/queue-name"] = "default"
    pods(runtime)["spec"]["schedulerName"] = scheduler
    return dict(runtime)


def pods(runtime: Manifest) -> Manifest:
    """The pod template of a runtime."""
    template: Manifest = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    return template


def reader(namespace: str) -> list[Manifest]:
    """Who the second scheduler is: it sees everything, and changes nothing outside of the namespace."""
    rbac = "rbac.authorization.k8s.io"
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": namespace}
    name = f"{namespace}-{STOCK}"
    rules = [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["scheduling.volcano.sh"], "resources": ["queues"], "verbs": ["create"]},  # it ends where it may not try
    ]
    return [
        {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": name},
            "subjects": [subject],
        },
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": STOCK, "namespace": namespace},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [subject],
        },
    ]


def stock_scheduler(place: Namespace, folder: Path) -> list[str | Path]:
    """A second Volcano scheduler, for pods that name it, with the configuration of Volcano's own manifests."""
    manifests = binaries.modules()["volcano"].sources() / "installer/volcano-development.yaml"
    objects = [each for each in yaml.safe_load_all(manifests.read_text(encoding="utf-8")) if each]
    (stock,) = (each["data"]["volcano-scheduler.conf"] for each in objects if each["metadata"]["name"] == "volcano-scheduler-configmap")
    assert "network-topology-aware" not in stock
    (folder / "scheduler.conf").write_text(stock, encoding="utf-8")
    access = yaml.safe_load(place.cluster.lab.kubeconfig.read_text(encoding="utf-8"))
    access["users"][0]["user"]["as"] = f"system:serviceaccount:{place.name}:default"
    kubeconfig = folder / "kubeconfig"
    kubeconfig.touch(mode=0o600)
    kubeconfig.write_text(yaml.safe_dump(access), encoding="utf-8")
    words = [f"--kubeconfig={kubeconfig}", f"--scheduler-name={STOCK}", f"--scheduler-conf={folder / 'scheduler.conf'}"]
    return [binaries.binary("volcano-scheduler"), *words, "--leader-elect=false", "--cache-dumper=false"]


@contextlib.contextmanager
def started(
    place: Namespace, name: str, *, workers: int, runtime: str, queue: str | None, annotations: dict[str, str] | None = None
) -> Iterator[None]:
    """A run that is gone, with its pods, afterwards."""
    with applied(place, *run_of(name, workers=workers, runtime=runtime, queue=queue, annotations=annotations)):
        yield


def run_of(name: str, *, workers: int, runtime: str, queue: str | None = None, annotations: dict[str, str] | None = None) -> list[Manifest]:
    """A run on the racks, and its code; `annotations` of its pods."""
    pod = {} if queue else {"nodeSelector": {PRETENDED: "true"}, "tolerations": [TOLERATION]}  # from Kueue's flavor otherwise
    code, run = trainjob(name, "", workers=workers, runtime=runtime, queue=queue, pod=pod)
    (job,) = run["spec"]["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    job["template"]["spec"]["template"]["metadata"] = {"annotations": annotations or {}}
    return [code, run]


@contextlib.contextmanager
def applied(place: Namespace, *objects: Manifest) -> Iterator[None]:
    """Objects, of which the last is a run that is gone, with its pods, afterwards."""
    place.apply(*objects)
    kind, name = objects[-1]["kind"], objects[-1]["metadata"]["name"]
    try:
        yield
    finally:
        place.kubectl("delete", kind, name, "--timeout=120s")
        place.wait("its pods gone", lambda: place.items("pods", f"--selector={JOBSET_NAME}={name}") == [])


def racks(place: Namespace, run: str) -> list[str]:
    """The rack of each pod that has a node."""
    return sorted(NODES[pod["spec"]["nodeName"]] for pod in place.pods(run) if "nodeName" in pod["spec"])
