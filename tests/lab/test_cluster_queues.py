"""What the clusters' queues do, by the real Kueue and the real Volcano: the very objects of clusters/, in the size of the lab's node."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

import pytest
import yaml
from kubernetes.utils.quantity import parse_quantity

from tests.lab.conftest import own, present
from tests.lab.live import Cluster, Manifest, Namespace, deployed, surroundings, trainjob

HOLD = "import time\nprint('holding')\ntime.sleep(3600)\n"
# Holds what it has, until it is stopped and started again.
ONCE = """import json, os, pathlib, time
mark = pathlib.Path("/workspace/checkpoints", f"{os.environ['TFRUN_JOB_UID']}-{json.loads(os.environ['TF_CONFIG'])['task']['index']}")
if mark.exists():
    mark.unlink()
else:
    mark.touch()
    print("holding")
    time.sleep(3600)
"""
PRIORITY = "kueue.x-k8s.io/priority-class"
pytestmark = pytest.mark.lab


# --- h100-ib: two teams and a cohort ----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Teams:
    vision: Namespace
    robotics: Namespace


@pytest.fixture(scope="module")
def teams(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Teams]:
    """Four GPUs each, of which vision lends two and robotics all; robotics borrows two at most."""
    with own(cluster, request, "-vision") as vision, own(cluster, request, "-robotics") as robotics:
        theirs = {"vision": vision.name, "robotics": robotics.name}
        queues = [each for each in deployed("h100-ib/queues") if each["kind"] == "ClusterQueue"]
        assert {each["metadata"]["name"] for each in queues} == set(theirs)
        for each in queues:
            name = theirs[each["metadata"]["name"]]
            each["spec"]["cohortName"] = f"{vision.name}-{each['spec']['cohortName']}"
            cluster.apply(small(each, name, {"h100": "lab"}))  # in place of the namespace's own
        yield Teams(vision=vision, robotics=robotics)


def test_a_team_borrows_what_another_leaves_idle_and_gives_it_back_as_a_whole(teams: Teams) -> None:
    robotics, vision = teams.robotics, teams.vision
    robotics.apply(*trainjob("borrows", ONCE, workers=3, gpus=2))
    holding(robotics, "borrows", workers=3)
    assert borrowed(robotics) == "2"
    vision.apply(*trainjob("owns", "", workers=2, gpus=2))
    vision.complete("owns")
    assert "preempted" in str(evictions(robotics, "borrows")).lower()
    assert "reclamation within the cohort" in str(evictions(robotics, "borrows"))
    robotics.complete("borrows")
    assert robotics.jobset("borrows")["status"]["restarts"] == 0
    started = [each["involvedObject"]["name"] for each in robotics.items("events", "--field-selector=reason=Started")]
    assert [sum(pod.startswith(f"borrows-node-0-{index}-") for pod in started) for index in range(3)] == [2, 2, 2]


def test_a_team_borrows_no_more_than_its_limit(teams: Teams) -> None:
    teams.robotics.apply(*trainjob("greedy", "", workers=1, gpus=7))
    teams.robotics.wait("Kueue has looked", lambda: "maximum capacity (6)" in said(teams.robotics, "greedy"))


@pytest.mark.long
def test_what_is_urgent_stops_what_is_routine_in_the_same_queue(teams: Teams) -> None:
    vision = teams.vision
    vision.apply(*trainjob("routine", ONCE, workers=2, gpus=4, labels={PRIORITY: "routine"}))  # all there is: robotics lends
    holding(vision, "routine", workers=2)
    vision.apply(*trainjob("urgent", "", workers=1, gpus=4, labels={PRIORITY: "urgent"}))
    vision.complete("urgent")
    assert "prioritization in the ClusterQueue" in str(evictions(vision, "routine"))
    vision.complete("routine")


# --- a10g: flavors and order ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def a10g(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Namespace]:
    """Four reserved GPUs and four on spot, whose taint the flavor knows and the lab's node does not have."""
    with own(cluster, request, "-a10g") as namespace:
        found = deployed("a10g/queues")
        flavors = [each for each in found if each["kind"] == "ResourceFlavor"]
        names = {each["metadata"]["name"]: f"{namespace.name}-{each['metadata']['name']}" for each in flavors}
        for each in flavors:
            each["metadata"]["name"] = names[each["metadata"]["name"]]
            del each["spec"]["nodeLabels"]
        (queue,) = [each for each in found if each["kind"] == "ClusterQueue"]
        with present(cluster, *flavors):
            cluster.apply(small(queue, namespace.name, names))
            yield namespace


@pytest.mark.long
def test_only_a_run_that_tolerates_spot_gets_it(a10g: Namespace) -> None:
    (template,) = [each for each in deployed("a10g/runs/on-spot") if each["kind"] == "TrainJob"]
    (job,) = template["spec"]["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    tolerations = job["template"]["spec"]["template"]["spec"]["tolerations"]
    a10g.apply(*trainjob("other", ""), *trainjob("spot", "", pod={"tolerations": tolerations}))
    for run, flavor in {"other": "reserved", "spot": "spot"}.items():
        a10g.complete(run)
        (assigned,) = workload(a10g, run)["status"]["admission"]["podSetAssignments"]
        assert assigned["flavors"]["nvidia.com/gpu"] == f"{a10g.name}-{flavor}"


@pytest.mark.long
def test_nothing_overtakes_a_large_gang_that_waits(a10g: Namespace, teams: Teams) -> None:
    a10g.apply(*trainjob("first", HOLD, workers=3))
    holding(a10g, "first", workers=3)
    a10g.apply(*trainjob("large", "", workers=2))
    a10g.wait("the large one waits", lambda: "insufficient unused quota" in said(a10g, "large"))
    a10g.apply(*trainjob("small", "", workers=1))  # there would be room for it
    a10g.wait("the small one is queued", lambda: bool(a10g.workloads("small")))
    teams.vision.apply(*trainjob("elsewhere", "", workers=1))
    teams.vision.complete("elsewhere")  # Kueue has looked at all queues since
    assert "admission" not in workload(a10g, "small").get("status", {})
    a10g.kubectl("delete", "trainjob", "first")
    a10g.complete("large")
    a10g.complete("small")


# --- l40s: Volcano's queues -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def l40s(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Namespace]:
    """Volcano's queues with an eighth of their devices, the runtimes, and what Trainer needs for their priority."""
    with own(cluster, request, "-l40s") as namespace:
        queues = [each for each in deployed("l40s/queues") if each["kind"] == "Queue"]
        for each in queues:
            each["metadata"]["name"] = f"{namespace.name}-{each['metadata']['name']}"
            spec = each["spec"]
            for amounts in (spec["capability"], spec.get("deserved"), spec.get("guarantee", {}).get("resource")):
                for resource in amounts or {}:
                    amounts[resource] = scaled(amounts[resource], Decimal(1) / (8 if resource == "nvidia.com/gpu" else 480), resource)
        others = [*deployed("l40s/queues"), *deployed("l40s/access")]
        priority = [each for each in others if each["kind"] == "PriorityClass" or each["metadata"]["name"] == "training-priorities"]
        runtimes = [each for each in deployed("l40s/runtimes") if each["kind"] == "ClusterTrainingRuntime"]
        for each in [*priority, *runtimes]:
            each["metadata"]["name"] = f"{namespace.name}-{each['metadata']['name']}"
        for each in runtimes:
            pod = each["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
            if "priorityClassName" in pod:
                pod["priorityClassName"] = f"{namespace.name}-{pod['priorityClassName']}"
        for each in priority:
            if "roleRef" in each:
                each["roleRef"]["name"] = f"{namespace.name}-{each['roleRef']['name']}"
        with present(cluster, *queues, *priority, *runtimes):
            yield namespace


def gang(l40s: Namespace, name: str, script: str, *, gpus: int, queue: str = "experiments", runtime: str = "") -> list[Manifest]:
    """A run of one worker in a queue that it names itself, as l40s/runs/small-batch does."""
    code, job = trainjob(name, script, workers=1, gpus=gpus, queue=None, runtime=f"{l40s.name}-tensorflow-distributed-volcano{runtime}")
    (patch,) = job["spec"]["runtimePatches"]
    queue = queue if queue == "default" else f"{l40s.name}-{queue}"
    patch["trainingRuntimeSpec"]["template"]["metadata"] = {"annotations": {"scheduling.volcano.sh/queue-name": queue}}
    return [code, job]


def test_trainer_may_not_read_priority_classes_by_itself(cluster: Cluster) -> None:
    """Its webhook looks one up for each run of Volcano whose runtime names one, and gives up on what it may not list."""
    (binding,) = [
        each for each in deployed("l40s/access") if each["kind"] == "ClusterRoleBinding" and "priorities" in each["metadata"]["name"]
    ]
    (account,) = binding["subjects"]
    cluster.kubectl("get", "serviceaccount", account["name"], f"--namespace={account['namespace']}")
    for verb in ("get", "list", "watch"):
        review = {"kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "metadata": {}}
        review["spec"] = {
            "user": f"system:serviceaccount:{account['namespace']}:{account['name']}",
            "resourceAttributes": {"group": "scheduling.k8s.io", "resource": "priorityclasses", "verb": verb},
        }
        answer = cluster.kubectl("create", "--filename=-", "--output=json", given=yaml.safe_dump(review))
        assert json.loads(answer)["status"]["allowed"] is False


@pytest.mark.long
def test_of_two_gangs_that_wait_the_urgent_one_is_placed_first(l40s: Namespace) -> None:
    l40s.apply(*gang(l40s, "first", HOLD, gpus=2))
    holding(l40s, "first", workers=1)
    l40s.apply(*gang(l40s, "routine", "", gpus=2))
    l40s.wait("the routine one waits", lambda: waits(l40s, "routine"))
    l40s.apply(*gang(l40s, "urgent", "", gpus=2, runtime="-urgent"))
    l40s.wait("the urgent one waits", lambda: waits(l40s, "urgent"))
    l40s.kubectl("delete", "trainjob", "first")
    l40s.complete("urgent")
    l40s.complete("routine")
    placed = {run: placement(l40s, run) for run in ("urgent", "routine")}
    assert placed["urgent"] < placed["routine"]


@pytest.mark.long
def test_what_is_guaranteed_to_a_queue_is_kept_while_it_is_idle(l40s: Namespace) -> None:
    l40s.apply(*gang(l40s, "all-but-one", "", gpus=7, queue="default"))
    l40s.wait("it waits", lambda: waits(l40s, "all-but-one"))
    l40s.kubectl(
        "patch",
        "queue.scheduling.volcano.sh",
        f"{l40s.name}-training",
        "--type=json",
        '--patch=[{"op": "remove", "path": "/spec/guarantee"}]',
    )
    l40s.complete("all-but-one")


# --- what the tests look at -------------------------------------------------------------------------------------


def small(queue: Manifest, namespace: str, flavors: dict[str, str]) -> Manifest:
    """A ClusterQueue for a namespace of the same name: each quota is the lab's half, limits are in proportion."""
    lab = {each["name"]: each["nominalQuota"] for each in surroundings("")[1]["spec"]["resourceGroups"][0]["flavors"][0]["resources"]}
    queue["metadata"]["name"] = namespace
    queue["spec"]["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"] = namespace
    for flavor in queue["spec"]["resourceGroups"][0]["flavors"]:
        flavor["name"] = flavors[flavor["name"]]
        for resource in flavor["resources"]:
            by = parse_quantity(lab[resource["name"]]) / parse_quantity(resource["nominalQuota"])
            for key in [key for key in resource if key != "name"]:
                resource[key] = scaled(resource[key], by, resource["name"])
    return queue


def scaled(quantity: str, by: Decimal, resource: str) -> str:
    amount = parse_quantity(quantity) * by
    return f"{int(amount * 1000)}m" if resource == "cpu" else str(int(amount))


def holding(namespace: Namespace, run: str, *, workers: int) -> None:
    namespace.wait(f"{run} holds", lambda: all("holding" in namespace.logs(run, index) for index in range(workers)))


def workload(namespace: Namespace, run: str) -> Manifest:
    (found,) = namespace.workloads(run)
    return found


def said(namespace: Namespace, run: str) -> str:
    """What Kueue says of a run that it does not admit."""
    return str([each.get("status", {}).get("conditions") for each in namespace.workloads(run)])


def evictions(namespace: Namespace, run: str) -> list[str]:
    return [each for each in namespace.events(workload(namespace, run)["metadata"]["name"]) if "reempt" in each]


def borrowed(namespace: Namespace) -> str:
    """The GPUs that a team's queue has from others."""
    (flavor,) = namespace.cluster.get("clusterqueue", namespace.name)["status"]["flavorsReservation"]
    return next(str(each.get("borrowed", "0")) for each in flavor["resources"] if each["name"] == "nvidia.com/gpu")


def waits(namespace: Namespace, run: str) -> bool:
    """Volcano has looked at a gang and not let it in."""
    groups = [each for each in namespace.items("podgroups") if each["metadata"]["name"] == run]
    return any(each.get("status", {}).get("phase") == "Pending" for each in groups) and "insufficient" in str(namespace.events(run))


def placement(namespace: Namespace, run: str) -> str:
    """When its only pod got its node."""
    (pod,) = namespace.pods(run)
    return next(str(each["lastTransitionTime"]) for each in pod["status"]["conditions"] if each["type"] == "PodScheduled")
