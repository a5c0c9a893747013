"""What the gate says of queues, against the real Kueue and Volcano: what it refuses they refuse, or never admit.

The runs are bare JobSets: Kueue holds them as it holds TrainJobs, and they need no runtime.
"""

from __future__ import annotations

import copy
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gate.evaluate import Evaluator
from tests.lab.conftest import Cluster, own, present
from tests.lab.live import Manifest, Namespace, trainjob
from tests.lab.test_gate_and_cluster import QUEUE, REQUESTS, Fault, accepted, errors, findings, refusal, remove
from tests.lab.test_gate_and_cluster import made as of_repository

KUEUE = "kueue.x-k8s.io/v1beta2"
TOPOLOGY = "kueue.x-k8s.io/podset-"  # how the annotations begin that ask for one
REQUIRED, PREFERRED, UNCONSTRAINED = (f"{TOPOLOGY}{word}-topology" for word in ("required", "preferred", "unconstrained"))
SLICE, SLICE_SIZE = f"{TOPOLOGY}slice-required-topology", f"{TOPOLOGY}slice-size"
MULTIKUEUE = "kueue.x-k8s.io/multikueue"
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


def two_groups(flavor: str, resource: str = "memory") -> Manifest:
    queue = cluster_queue("groups")
    resources = [{"name": resource, "nominalQuota": "1Gi"}]
    queue["spec"]["resourceGroups"].append({"coveredResources": [resource], "flavors": [{"name": flavor, "resources": resources}]})
    return queue


def cohort(limit: str, **spec: Any) -> Manifest:
    quota = {"name": "cpu", "nominalQuota": "1", limit: "1"}
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "plain", "resources": [quota]}]}]
    return made(KUEUE, "Cohort", "whole", {"resourceGroups": groups, **spec})


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
    "resource-twice": (two_groups("other", "cpu"), two_groups("other")),
    "cohort-lends-to-nobody": (cohort("lendingLimit"), cohort("lendingLimit", parentName="all")),
    "cohort-borrows-from-nobody": (cohort("borrowingLimit"), cohort("borrowingLimit", parentName="all")),
    "deserved": (volcano("deserved", capability={"cpu": "1"}, deserved={"cpu": "2"}), volcano("deserved", deserved={"cpu": "2"})),
    "not-in-capability": (
        volcano("deserved", capability={"cpu": "1"}, deserved={"nvidia.com/gpu": "1"}),
        volcano("deserved", capability={"cpu": "1", "nvidia.com/gpu": "1"}, deserved={"nvidia.com/gpu": "1"}),
    ),
    "guarantee": (
        volcano("guarantee", guarantee={"resource": {"cpu": "1"}}),
        volcano("guarantee", guarantee={"resource": {"cpu": "1"}}, deserved={"cpu": "1"}),
    ),
    "guarantee-above-capability": (
        volcano("guarantee", capability={"cpu": "1"}, guarantee={"resource": {"cpu": "2"}}),
        volcano("guarantee", capability={"cpu": "2"}, guarantee={"resource": {"cpu": "2"}}, deserved={"cpu": "2"}),
    ),
    "own-parent": (volcano("parent", parent="parent"), volcano("parent")),
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


PARENTS = [  # small, since nobody else may use what is guaranteed
    volcano("test-parent", capability={"cpu": "4m"}, deserved={"cpu": "3m"}, guarantee={"resource": {"cpu": "2m"}}),
    volcano("test-capability-alone", capability={"cpu": "4m"}),
]
SIBLINGS = [volcano(f"{each['metadata']['name']}-first", parent=each["metadata"]["name"], deserved={"cpu": "1m"}) for each in PARENTS]
SIBLINGS[0]["spec"]["guarantee"] = {"resource": {"cpu": "1m"}}
CHILDREN = {  # each beside a twin that is right, and what Volcano says
    "capability": (
        volcano("test-child", parent="test-parent", capability={"cpu": "5m"}),
        volcano("test-child", parent="test-parent", capability={"cpu": "4m"}),
        "exceeds parent queue test-parent capability",
    ),
    "deserved": (
        volcano("test-child", parent="test-parent", deserved={"cpu": "3m"}),
        volcano("test-child", parent="test-parent", deserved={"cpu": "2m"}),
        "exceeds parent's deserved limit",
    ),
    "guarantee": (
        volcano("test-child", parent="test-parent", deserved={"cpu": "2m"}, guarantee={"resource": {"cpu": "2m"}}),
        volcano("test-child", parent="test-parent", deserved={"cpu": "2m"}, guarantee={"resource": {"cpu": "1m"}}),
        "exceeds parent's guarantee limit",
    ),
    "deserved-above-capability": (
        volcano("test-child", parent="test-capability-alone", deserved={"cpu": "4m"}),
        volcano("test-child", parent="test-capability-alone", deserved={"cpu": "3m"}),
        "exceeds parent's capability",
    ),
}


def gone(cluster: Cluster, queues: list[Manifest]) -> bool:
    """Whether Volcano, which learns a moment later that their children are gone, lets these go."""
    try:
        remove(cluster, queues)
    except subprocess.CalledProcessError as error:
        assert "child queues" in error.stderr, error.stderr
        return False
    return True


def test_children_that_are_refused(cluster: Cluster, tmp_path: Path, opa: Evaluator) -> None:
    for name, (fault, sound, _) in CHILDREN.items():
        assert errors([*PARENTS, *SIBLINGS, sound], tmp_path / f"{name}-sound.yaml", opa) == set()
        assert errors([*PARENTS, *SIBLINGS, fault], tmp_path / f"{name}.yaml", opa) == {"queue/volcano-queue-accepted"}
    try:
        cluster.apply(*PARENTS)
        cluster.wait("the webhook knows the parents", lambda: not any(refusal(cluster, [each]) for each in SIBLINGS))
        cluster.apply(*SIBLINGS)
        cluster.wait("and the children", lambda: all(words in refusal(cluster, [fault]) for fault, _, words in CHILDREN.values()))
        assert [refusal(cluster, [sound]) for _, sound, _ in CHILDREN.values()] == [""] * len(CHILDREN)
    finally:
        remove(cluster, SIBLINGS)
        cluster.wait("the parents go", lambda: gone(cluster, PARENTS))


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


def cpus(amount: str) -> Manifest:
    """What a pod that asks for so much CPU has in its spec."""
    return {"containers": [{"name": "main", "image": "busybox:1.37", "resources": {"requests": {"cpu": amount}}}]}


def required(system: str) -> Manifest:
    """The node affinity of a pod that runs on nodes of one system only."""
    terms = [{"matchExpressions": [{"key": "kubernetes.io/os", "operator": "In", "values": [system]}]}]
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}}


TWO = cpus("2")
NEVER = {  # run: its queue, what its pods ask for, the rule, what Kueue says
    "another-system": (
        "plain",
        {"nodeSelector": {"kubernetes.io/os": "windows"}},
        "queue/flavor-takes-pods",
        "doesn't match node affinity",
    ),
    "another-system-by-affinity": ("plain", required("windows"), "queue/flavor-takes-pods", "doesn't match node affinity"),
    "only-topology": ("mixed", {}, "queue/flavor-takes-pods", "supports only TopologyAwareScheduling"),
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
    "over-two-flavors": ("both", TWO, "queue/within-quota", "insufficient quota for cpu"),  # one CPU of each
    "together": ("plain", {**cpus("600m"), "jobs": 2}, "queue/within-quota", "previously considered podsets requests (600m)"),
    "no-parameters": ("checked", {}, "queue/admission-check-works", "is inactive"),
}


WHERE = {"asked": "plain", "not-asked": "nowhere"}  # for which flavor a check is asked
LIMITS = {"borrower": "borrowingLimit", "lender": "lendingLimit"}


def surroundings(namespace: str, queue: str, limit: str = "500m") -> list[Manifest]:
    """What one of the runs needs: the flavors, its queue, and what that names, all called after the namespace."""
    here = {name: f"{namespace}-{name}" for name in ("plain", "tainted", "racks", "mixed", "both", "circle", "checked", "other", *LIMITS)}
    linux = {"kubernetes.io/os": "linux"}
    taint = {"key": "example.com/team", "value": "other", "effect": "NoSchedule"}
    specs = {"plain": {}, "tainted": {"nodeTaints": [taint]}, "racks": {"topologyName": here["racks"]}, "other": {}}
    several = {"mixed": ["racks", "tainted"], "both": ["plain", "other"]}
    flavors = several.get(queue, [queue if queue in specs else "plain"])
    more = {
        "circle": {"cohortName": here["circle"]},
        "checked": {"admissionChecksStrategy": {"admissionChecks": [{"name": here["checked"]}]}},
        "borrower": {"cohortName": f"{here['borrower']}-inner"},
        "lender": {"cohortName": f"{here['lender']}-outer"},
    }
    objects = [
        *(made(KUEUE, "ResourceFlavor", here[each], {"nodeLabels": linux, **specs[each]}) for each in flavors),
        cluster_queue(here[queue], tuple(here[each] for each in flavors), **more.get(queue, {})),
        {**made(KUEUE, "LocalQueue", queue, {"clusterQueue": here[queue]}), "metadata": {"name": queue, "namespace": namespace}},
    ]
    if "racks" in flavors:
        objects.append(made(KUEUE, "Topology", here["racks"], {"levels": [{"nodeLabel": "kubernetes.io/hostname"}]}))
    if queue == "circle":
        objects.append(made(KUEUE, "Cohort", here["circle"], {"parentName": here["other"]}))
        objects.append(made(KUEUE, "Cohort", here["other"], {"parentName": here["circle"]}))
    if queue in LIMITS:  # two queues of one CPU each, of which one is in an inner cohort
        quota = {"name": "cpu", "nominalQuota": "0", LIMITS[queue]: limit}
        groups = [{"coveredResources": ["cpu"], "flavors": [{"name": here["plain"], "resources": [quota]}]}]
        inner = {"parentName": f"{here[queue]}-outer", "resourceGroups": groups}
        theirs = f"{here[queue]}-{'outer' if queue == 'borrower' else 'inner'}"
        objects.append(made(KUEUE, "Cohort", f"{here[queue]}-inner", inner))
        objects.append(cluster_queue(f"{here[queue]}-idle", (here["plain"],), cohortName=theirs))
    if queue == "checked":
        objects.append(made(KUEUE, "AdmissionCheck", here[queue], {"controllerName": MULTIKUEUE}))
    return objects


def jobset(name: str, namespace: str, queue: str, asked: Manifest) -> Manifest:
    """A JobSet of one pod, or of as many `jobs` as are asked for; all else is an annotation or a field of the pod's spec."""
    annotations = {key: value for key, value in asked.items() if key.startswith(TOPOLOGY)}
    container = {"name": "main", "image": "busybox:1.37", "resources": {"requests": {"cpu": "1m"}}}
    pod = {
        "restartPolicy": "Never",
        "containers": [container],
        **{key: value for key, value in asked.items() if key not in (*annotations, "jobs")},
    }
    job = {"backoffLimit": 0, "template": {"metadata": {"annotations": annotations}, "spec": pod}}
    jobs = [{"name": each, "template": {"spec": job}} for each in ("main", "more")[: asked.get("jobs", 1)]]
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": namespace, "labels": {"kueue.x-k8s.io/queue-name": queue}},
        "spec": {"suspend": True, "replicatedJobs": jobs},
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


CHECKS: dict[str, tuple[Manifest | None, str]] = {  # a check's parameters, and what Kueue says of it
    "no-parameters": (None, "missing parameters reference"),
    "another-kind": ({"kind": "ProvisioningRequestConfig", "name": "test-checks"}, 'wrong kind "ProvisioningRequestConfig"'),
    "no-configuration": ({"kind": "MultiKueueConfig", "name": "test-nowhere"}, '"test-nowhere" not found'),
}


def check(name: str, controller: str, **spec: Any) -> Manifest:
    return made(KUEUE, "AdmissionCheck", name, {"controllerName": controller, **spec})


def test_checks_that_are_inactive(cluster: Cluster, tmp_path: Path, opa: Evaluator) -> None:
    """Beside one whose configuration is found, and which lacks only the cluster that is configured."""
    group = {"apiGroup": "kueue.x-k8s.io"}
    config = made(KUEUE, "MultiKueueConfig", "test-checks", {"clusters": ["test-nowhere"]})
    sound = check("test-checks", MULTIKUEUE, parameters={**group, "kind": "MultiKueueConfig", "name": "test-checks"})
    given = {name: {"parameters": {**group, **parameters}} if parameters else {} for name, (parameters, _) in CHECKS.items()}
    faults = [check(f"test-checks-{name}", MULTIKUEUE, **spec) for name, spec in given.items()]
    told = findings([config, sound, *faults], tmp_path / "checks.yaml", opa)
    refused = sorted((each.rule, each.resource.name) for each in told if each.resource and each.severity == "error")
    assert refused == sorted(("queue/admission-check-works", each["metadata"]["name"]) for each in faults)

    def said(name: str, words: str) -> bool:
        return words in str(cluster.get("admissioncheck", name).get("status"))

    with present(cluster, config, sound, *faults):
        cluster.wait("Kueue's words", lambda: all(said(f"test-checks-{name}", words) for name, (_, words) in CHECKS.items()))
        cluster.wait("and of the other", lambda: said("test-checks", "Missing clusters"))


def checked(name: str, controller: str, checked: tuple[str, ...], **spec: Any) -> list[Manifest]:
    """A LocalQueue and a ClusterQueue of one flavor or two, where a check is asked of some, and what they name."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    strategy = {"admissionChecks": [{"name": name, "onFlavors": list(checked)}]}
    local = made(KUEUE, "LocalQueue", "training", {"clusterQueue": name})
    local["metadata"]["namespace"] = name
    flavors = [made(KUEUE, "ResourceFlavor", f"{name}-{each}", {}) for each in ("plain", "other")]
    names = tuple(each["metadata"]["name"] for each in flavors)
    return [namespace, *flavors, check(name, controller, **spec), cluster_queue(name, names, admissionChecksStrategy=strategy), local]


def test_a_check_for_a_flavor_that_the_queue_does_not_have_holds_no_run(cluster: Cluster, tmp_path: Path, opa: Evaluator) -> None:
    """Of a controller of nobody's, whose part is played here: it says that the check is active, and then nothing of any run."""
    active = {"type": "Active", "status": "True", "reason": "Active", "message": "", "lastTransitionTime": "2020-01-01T00:00:00Z"}
    objects = {end: checked(f"test-{end}", "example.com/budget", (f"test-{end}-{flavor}",)) for end, flavor in WHERE.items()}
    runs = {end: jobset("held", f"test-{end}", "training", {}) for end in WHERE}
    assert errors([*objects["asked"], runs["asked"]], tmp_path / "sound.yaml", opa) == set()
    assert errors([*objects["not-asked"], runs["not-asked"]], tmp_path / "fault.yaml", opa) == {"queue/admission-check-works"}
    everything = [each for end in WHERE for each in objects[end]]

    def reserved() -> bool:
        workloads = cluster.get("workloads", "--namespace=test-asked")["items"]
        conditions = [each for workload in workloads for each in workload.get("status", {}).get("conditions", [])]
        return any(each["type"] == "QuotaReserved" and each["status"] == "True" for each in conditions)

    try:
        cluster.apply(*everything)
        for end in WHERE:
            patch = json.dumps({"status": {"conditions": [active]}})
            cluster.kubectl("patch", "admissioncheck", f"test-{end}", "--subresource=status", "--type=merge", f"--patch={patch}")
        cluster.apply(*runs.values())
        cluster.wait("it starts", lambda: not cluster.get("jobset", "held", "--namespace=test-not-asked")["spec"]["suspend"])
        cluster.wait("the other one has its quota", reserved)
        assert cluster.get("jobset", "held", "--namespace=test-asked")["spec"]["suspend"]
    finally:
        remove(cluster, [*runs.values(), *everything])


def test_a_multikueue_check_for_some_flavors_makes_its_queue_inactive(cluster: Cluster, tmp_path: Path, opa: Evaluator) -> None:
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "test-some"}
    config = made(KUEUE, "MultiKueueConfig", "test-some", {"clusters": ["test-nowhere"]})
    flavors = ("test-some-plain", "test-some-other")
    fault, sound = (checked("test-some", MULTIKUEUE, some, parameters=parameters) for some in (flavors[:1], flavors))
    assert errors([config, *sound], tmp_path / "sound.yaml", opa) == set()
    assert errors([config, *fault], tmp_path / "fault.yaml", opa) == {"queue/admission-check-works"}

    def words() -> bool:
        return "Cannot specify MultiKueue AdmissionCheck per flavor" in str(cluster.get("clusterqueue", "test-some").get("status"))

    with present(cluster, config, *fault):
        cluster.wait("Kueue's words", words)
        cluster.apply(*sound)
        cluster.wait("no word of it", lambda: not words())


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
