"""What the gate says of queues, against the real Kueue and Volcano: what it refuses they refuse, or never admit.

The runs are bare JobSets: Kueue holds them as it holds TrainJobs, and they need no runtime.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gate.evaluate import Evaluator
from tests.lab.conftest import Cluster, own
from tests.lab.live import Manifest, Namespace, trainjob
from tests.lab.test_gate_and_cluster import QUEUE, REQUESTS, Fault, accepted, errors, refusal, remove
from tests.lab.test_gate_and_cluster import made as of_repository

KUEUE = "kueue.x-k8s.io/v1beta2"
TOPOLOGY = "kueue.x-k8s.io/podset-"  # how the annotations begin that ask for one
REQUIRED, PREFERRED, UNCONSTRAINED = (f"{TOPOLOGY}{word}-topology" for word in ("required", "preferred", "unconstrained"))
SLICE, SLICE_SIZE = f"{TOPOLOGY}slice-required-topology", f"{TOPOLOGY}slice-size"
SLICES, GROUP = f"{TOPOLOGY}slice-required-topology-constraints", f"{TOPOLOGY}group-name"
pytestmark = pytest.mark.lab


def cluster_queue(name: str, flavors: tuple[str, ...] = ("plain",), **spec: Any) -> Manifest:
    quotas = [{"name": flavor, "resources": [{"name": "cpu", "nominalQuota": "1"}]} for flavor in flavors]
    groups = [{"coveredResources": ["cpu"], "flavors": quotas}]
    return made(KUEUE, "ClusterQueue", name, {"namespaceSelector": {}, "resourceGroups": groups, **spec})


def volcano(name: str, **spec: Any) -> Manifest:
    return made("scheduling.volcano.sh/v1beta1", "Queue", name, spec)


def made(version: str, kind: str, name: str, spec: Manifest) -> Manifest:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}


# --- refused ----------------------------------------------------------------------------------------------------


def lending(limit: str, **spec: Any) -> Manifest:
    queue = cluster_queue("lends", **spec)
    queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["lendingLimit"] = limit
    return queue


def two_groups(flavor: str) -> Manifest:
    queue = cluster_queue("groups")
    resources = [{"name": "memory", "nominalQuota": "1Gi"}]
    queue["spec"]["resourceGroups"].append({"coveredResources": ["memory"], "flavors": [{"name": flavor, "resources": resources}]})
    return queue


def ordered(*names: str) -> Manifest:
    queue = cluster_queue("order")
    group = queue["spec"]["resourceGroups"][0]
    group["coveredResources"] = ["cpu", "memory"]
    group["flavors"][0]["resources"] = [{"name": each, "nominalQuota": "1"} for each in names]
    return queue


REFUSED = {  # each beside a twin that is right
    "order": (ordered("memory", "cpu"), ordered("cpu", "memory")),
    "lends-too-much": (lending("2", cohortName="all"), lending("1", cohortName="all")),
    "lends-to-nobody": (lending("1"), cluster_queue("lends")),
    "flavor-twice": (two_groups("plain"), two_groups("other")),
    "deserved": (volcano("deserved", capability={"cpu": "1"}, deserved={"cpu": "2"}), volcano("deserved", deserved={"cpu": "2"})),
    "not-in-capability": (
        volcano("deserved", capability={"cpu": "1"}, deserved={"nvidia.com/gpu": "1"}),
        volcano("deserved", capability={"cpu": "1", "nvidia.com/gpu": "1"}, deserved={"nvidia.com/gpu": "1"}),
    ),
    "guarantee": (
        volcano("guarantee", guarantee={"resource": {"cpu": "1"}}),
        volcano("guarantee", guarantee={"resource": {"cpu": "1"}}, deserved={"cpu": "1"}),
    ),
    "parent": (volcano("parent", parent="test-nowhere"), volcano("parent", parent="root")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_queues_that_are_refused(name: str, cluster: Cluster, tmp_path: Path, opa: Evaluator) -> None:
    fault, sound = REFUSED[name]
    rule = "queue/volcano-queue-accepted" if fault["kind"] == "Queue" else "queue/quotas-accepted"
    flavors = [made(KUEUE, "ResourceFlavor", each, {}) for each in ("plain", "other")]
    assert errors([*flavors, sound], tmp_path / "sound.yaml", opa) == set()
    assert errors([*flavors, fault], tmp_path / "fault.yaml", opa) == {rule}
    assert refusal(cluster, [sound]) == ""
    assert "denied the request" in refusal(cluster, [fault])


HOST = "kubernetes.io/hostname"
CONTRADICTIONS: dict[str, tuple[Manifest, str]] = {  # what the pods ask for, what Kueue says (of a TrainJob now and then the reason alone)
    "two-requests": ({REQUIRED: HOST, PREFERRED: HOST}, "must not contain more than one topology annotation"),
    "slices-above-the-run": ({SLICE: HOST, SLICE_SIZE: "2"}, "must not be greater than pod set count 1"),
    "no-slice-size": ({SLICE: HOST}, f"must be set when '{re.escape(SLICE)}' is specified"),
    "no-slice-level": ({SLICE_SIZE: "1"}, f"may not be set when '{SLICE}' is not specified"),
    "no-number": ({SLICE: HOST, SLICE_SIZE: "all"}, "must be a numeric value|ParseInt"),
    "no-pod": ({SLICE: HOST, SLICE_SIZE: "0"}, "must be greater than or equal to 1"),
    "undecided": ({UNCONSTRAINED: "maybe"}, "must be a boolean value|ParseBool"),
    "layers": ({SLICES: f'[{{"topology": "{HOST}", "size": 1}}]'}, "feature gate must be enabled to use this annotation"),
    "layers-and-slices": ({SLICES: f'[{{"topology": "{HOST}", "size": 1}}]', SLICE: HOST, SLICE_SIZE: "1"}, "feature gate must be enabled"),
    "group-of-slices": ({REQUIRED: HOST, GROUP: "all", SLICE: HOST, SLICE_SIZE: "1"}, f"may not be set when '{SLICE}' is specified"),
    "group-without-a-level": ({GROUP: "all"}, "may not be set when neither"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_topology_requests_that_are_refused(name: str, place: Namespace, tmp_path: Path, opa: Evaluator) -> None:
    asked, words = CONTRADICTIONS[name]
    around = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place.name}}, *surroundings(place.name, "racks")]
    sound, fault = (jobset(name, place.name, "racks", each) for each in ({REQUIRED: HOST}, asked))
    assert errors([*around, sound], tmp_path / "sound.yaml", opa) == set()
    assert errors([*around, fault], tmp_path / "fault.yaml", opa) == {"queue/topology-request"}
    (run,) = (each for each in trainjob(name, "", workers=1) if each["kind"] == "TrainJob")
    run["metadata"]["namespace"] = place.name
    (job,) = run["spec"]["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    job["template"]["spec"]["template"]["metadata"] = {"annotations": asked}
    for refused in (fault, run):
        assert re.search(words, refusal(place.cluster, [refused]))
    job["template"]["spec"]["template"]["metadata"] = {"annotations": {REQUIRED: HOST}}
    assert [refusal(place.cluster, [each]) for each in (sound, run)] == ["", ""]


def pair(name: str, namespace: str, first: Manifest, second: Manifest, count: int = 1) -> Manifest:
    """A JobSet of two pod templates, `leader` and `main`, with these annotations and so many pods of the first."""
    run = jobset(name, namespace, "racks", second)
    (job,) = run["spec"]["replicatedJobs"]
    leader = copy.deepcopy(job) | {"name": "leader"}
    leader["template"]["spec"] |= {"parallelism": count, "completions": count}
    leader["template"]["spec"]["template"]["metadata"]["annotations"] = first
    job["template"]["spec"] |= {"parallelism": 2, "completions": 2}
    run["spec"]["replicatedJobs"].insert(0, leader)
    return run


def test_groups_of_pod_templates_that_are_refused(place: Namespace, tmp_path: Path, opa: Evaluator) -> None:
    around = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place.name}}, *surroundings(place.name, "racks")]
    grouped = {REQUIRED: HOST, GROUP: "all"}
    sound = pair("pair", place.name, grouped, grouped)
    assert errors([*around, sound], tmp_path / "sound.yaml", opa) == set()
    assert refusal(place.cluster, [sound]) == ""
    faults = {
        "exactly 2 pod sets": pair("alone", place.name, grouped, {REQUIRED: HOST}),
        "at least one pod set has only 1 replica": pair("peers", place.name, grouped, grouped, count=2),
        "topology consistent with": pair("apart", place.name, grouped, {PREFERRED: HOST, GROUP: "all"}),
    }
    for words, fault in faults.items():
        assert errors([*around, fault], tmp_path / f"{fault['metadata']['name']}.yaml", opa) == {"queue/topology-request"}
        assert words in refusal(place.cluster, [fault])


# --- never admitted ---------------------------------------------------------------------------------------------

TWO = {"containers": [{"name": "main", "image": "busybox:1.37", "resources": {"requests": {"cpu": "2"}}}]}
NEVER = {  # run: its queue, what its pods ask for, the rule, what Kueue says
    "another-system": (
        "plain",
        {"nodeSelector": {"kubernetes.io/os": "windows"}},
        "queue/flavor-takes-pods",
        "doesn't match node affinity",
    ),
    "tainted": ("tainted", {}, "queue/flavor-takes-pods", "untolerated taint"),
    "no-topology": ("plain", {REQUIRED: "kubernetes.io/hostname"}, "queue/topology-request", "does not support TopologyAwareScheduling"),
    "no-level": ("racks", {REQUIRED: "example.com/block"}, "queue/topology-request", "does not contain the requested level"),
    "no-topology-at-all": ("plain", {UNCONSTRAINED: "true"}, "queue/topology-request", "does not support TopologyAwareScheduling"),
    "no-preferred-level": ("racks", {PREFERRED: "example.com/block"}, "queue/topology-request", "does not contain the requested level"),
    "no-level-of-slices": (
        "racks",
        {SLICE: "example.com/block", SLICE_SIZE: "1"},
        "queue/topology-request",
        "does not contain the requested level",
    ),
    "circle": ("circle", {}, "queue/cohorts-form-trees", "is inactive"),
    "held": ("borrower", TWO, "queue/within-quota", "insufficient quota for cpu"),  # its cohort borrows half a CPU
    "kept": ("lender", TWO, "queue/within-quota", "insufficient quota for cpu"),  # the other's cohort lends half a CPU
    "no-parameters": ("checked", {}, "queue/admission-check-works", "is inactive"),
}


LIMITS = {"borrower": "borrowingLimit", "lender": "lendingLimit"}


def surroundings(namespace: str, queue: str, limit: str = "500m") -> list[Manifest]:
    """What one of the runs needs: the flavors, its queue, and what that names, all called after the namespace."""
    here = {name: f"{namespace}-{name}" for name in ("plain", "tainted", "racks", "circle", "checked", "other", *LIMITS)}
    linux = {"kubernetes.io/os": "linux"}
    taint = {"key": "example.com/team", "value": "other", "effect": "NoSchedule"}
    flavors = {"plain": {}, "tainted": {"nodeTaints": [taint]}, "racks": {"topologyName": here["racks"]}}
    flavor = queue if queue in flavors else "plain"
    more = {
        "circle": {"cohortName": here["circle"]},
        "checked": {"admissionChecksStrategy": {"admissionChecks": [{"name": here["checked"]}]}},
        "borrower": {"cohortName": f"{here['borrower']}-inner"},
        "lender": {"cohortName": f"{here['lender']}-outer"},
    }
    objects = [
        made(KUEUE, "ResourceFlavor", here[flavor], {"nodeLabels": linux, **flavors[flavor]}),
        cluster_queue(here[queue], (here[flavor],), **more.get(queue, {})),
        {**made(KUEUE, "LocalQueue", queue, {"clusterQueue": here[queue]}), "metadata": {"name": queue, "namespace": namespace}},
    ]
    if queue == "racks":
        objects.append(made(KUEUE, "Topology", here[queue], {"levels": [{"nodeLabel": "kubernetes.io/hostname"}]}))
    if queue == "circle":
        objects.append(made(KUEUE, "Cohort", here["circle"], {"parentName": here["other"]}))
        objects.append(made(KUEUE, "Cohort", here["other"], {"parentName": here["circle"]}))
    if queue in LIMITS:  # two queues of one CPU each, of which one is in an inner cohort
        quota = {"name": "cpu", "nominalQuota": "0", LIMITS[queue]: limit}
        groups = [{"coveredResources": ["cpu"], "flavors": [{"name": here[flavor], "resources": [quota]}]}]
        inner = {"parentName": f"{here[queue]}-outer", "resourceGroups": groups}
        theirs = f"{here[queue]}-{'outer' if queue == 'borrower' else 'inner'}"
        objects.append(made(KUEUE, "Cohort", f"{here[queue]}-inner", inner))
        objects.append(cluster_queue(f"{here[queue]}-idle", (here[flavor],), cohortName=theirs))
    if queue == "checked":
        objects.append(made(KUEUE, "AdmissionCheck", here[queue], {"controllerName": "kueue.x-k8s.io/provisioning-request"}))
    return objects


def jobset(name: str, namespace: str, queue: str, asked: Manifest) -> Manifest:
    annotations = {key: value for key, value in asked.items() if key.startswith(TOPOLOGY)}
    container = {"name": "main", "image": "busybox:1.37", "resources": {"requests": {"cpu": "1m"}}}
    pod = {"restartPolicy": "Never", "containers": [container], **{key: value for key, value in asked.items() if key not in annotations}}
    job = {"backoffLimit": 0, "template": {"metadata": {"annotations": annotations}, "spec": pod}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": namespace, "labels": {"kueue.x-k8s.io/queue-name": queue}},
        "spec": {"suspend": True, "replicatedJobs": [{"name": "main", "template": {"spec": job}}]},
    }


@pytest.fixture(scope="module")
def place(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Namespace]:
    """All of them, started together."""
    gone: list[Manifest] = []
    try:
        with own(cluster, request) as namespace:
            queues = {queue for queue, _, _, _ in NEVER.values()}
            objects = [each for queue in sorted(queues) for each in surroundings(namespace.name, queue)]
            gone = list(
                {(each["kind"], each["metadata"]["name"]): each for each in objects if "namespace" not in each["metadata"]}.values()
            )
            cluster.apply(*gone, *(each for each in objects if "namespace" in each["metadata"]))
            cluster.apply(*(jobset(name, namespace.name, queue, asked) for name, (queue, asked, _, _) in NEVER.items()))
            yield namespace
    finally:
        remove(cluster, gone)


@pytest.mark.parametrize("name", NEVER)
def test_runs_that_are_never_admitted(name: str, place: Namespace, tmp_path: Path, opa: Evaluator) -> None:
    queue, asked, rule, words = NEVER[name]
    around = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place.name}}, *surroundings(place.name, queue)]
    assert errors([*around, jobset(name, place.name, queue, asked)], tmp_path / "fault.yaml", opa) == {rule}
    if asked:
        assert errors([*around, jobset(name, place.name, queue, {})], tmp_path / "sound.yaml", opa) == set()
    place.wait("Kueue's words", lambda: words in said(place, name))
    assert place.jobset(name)["spec"]["suspend"]


@pytest.mark.parametrize("queue", LIMITS)
def test_a_limit_of_an_inner_cohort_that_does_not_bind(queue: str, cluster: Cluster, tmp_path: Path, opa: Evaluator) -> None:
    name = f"test-inner-{queue}"
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    objects = [namespace, *surroundings(name, queue, "1")]
    run = jobset("whole", name, queue, TWO)
    assert errors([*objects, run], tmp_path / "sound.yaml", opa) == set()
    try:
        cluster.apply(*objects, run)
        cluster.wait("admitted", lambda: not cluster.get("jobset", "whole", f"--namespace={name}")["spec"]["suspend"])
    finally:
        remove(cluster, [run, *objects])


def said(place: Namespace, name: str) -> str:
    """What Kueue says of a run's Workload."""
    return json.dumps([each.get("status", {}).get("conditions", []) for each in place.workloads(name)])


# --- not counted ------------------------------------------------------------------------------------------------

CAPABILITY = {"cpu": "20m", "nvidia.com/gpu": "1"}
GANGS = {"first": ("1m", "1"), "waits": ("15m", "1"), "small": ("15m", "0")}  # each one's cpu and GPUs
SIDES = ("limits", "requests")  # where the GPUs stand: in limits only, or in both


def gang(name: str, side: str, namespace: str) -> list[Manifest]:
    """A run of the repository's under Volcano, small, in the queue of its side."""
    cpu, gpus = GANGS[name]
    asked = f"\n        nvidia.com/gpu: '{gpus}'"
    limits = "      limits:\n        memory: 128Mi"
    edits = [
        (QUEUE, f"scheduling.volcano.sh/queue-name: {namespace}-{side}"),
        (REQUESTS, REQUESTS.replace("20m", cpu) + (asked if side == "requests" else "")),
        (limits, limits + asked),
    ]
    fault = Fault(rules=set(), given=edits, overlay="no-ib-volcano", run={"queue": None, "workers": 1})
    return of_repository(f"{side}-{name}", namespace, of=fault)


def test_a_gang_whose_limits_are_not_counted_holds_what_it_does_not_use(cluster: Cluster, request: pytest.FixtureRequest) -> None:
    """Beside the same gangs with the GPUs in requests too: there is no room for the GPU of the second, and for all of the small one."""
    gone: list[Manifest] = []
    try:
        with own(cluster, request) as place:
            objects = {name: [each for side in SIDES for each in gang(name, side, place.name)] for name in GANGS}
            gone += [each for found in objects.values() for each in found if each["kind"] == "ClusterTrainingRuntime"]
            gone += [volcano(f"{place.name}-{side}", capability=CAPABILITY) for side in SIDES]
            cluster.apply(*gone)
            runs = {name: [each for each in found if each not in gone] for name, found in objects.items()}
            assert accepted(cluster, [each for found in runs.values() for each in found]) == ""
            cluster.apply(*runs["first"])
            place.wait("the first ones", lambda: place.running("limits-first") == place.running("requests-first") == 1)
            cluster.apply(*runs["waits"])
            place.wait("one is enqueued", lambda: phase(place, "limits-waits") == "Inqueue")
            place.wait("the other one is not", lambda: "insufficient nvidia.com/gpu" in str(place.events("requests-waits")))
            cluster.apply(*runs["small"])
            place.wait("the small one runs", lambda: place.running("requests-small") == 1)
            reason = "queue resource quota insufficient: insufficient cpu"
            place.wait("the other one does not", lambda: reason in str(place.events("limits-small")))
            assert phase(place, "requests-waits") == phase(place, "limits-small") == "Pending"
            assert place.running("limits-waits") == place.running("limits-small") == 0
    finally:
        remove(cluster, gone)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", GANGS)
def test_the_gate_warns_of_limits_that_are_not_counted(name: str, side: str, tmp_path: Path, opa: Evaluator) -> None:
    objects = [volcano(f"somewhere-{side}", capability=CAPABILITY), *gang(name, side, "somewhere")]
    assert errors(objects, tmp_path / "run.yaml", opa) == set()
    warned = "queue/volcano-counts-resources" in errors(objects, tmp_path / "run.yaml", opa, "warning")
    assert warned == (side == "limits" and name != "small")


def phase(place: Namespace, run: str) -> str:
    """That of a run's PodGroup."""
    found = place.items("podgroups", f"--field-selector=metadata.name={run}")
    return str(found[0].get("status", {}).get("phase")) if found else ""
