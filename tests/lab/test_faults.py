"""What goes wrong on a live cluster, and that it ends well or says plainly why not."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import xmlrpc.client
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from supervisor.xmlrpc import SupervisorTransport

from tests.lab.conftest import devices
from tests.lab.live import JOBSET_NAME, Cluster, Manifest, Namespace, trainjob

pytestmark = pytest.mark.lab

VOLCANO = "tensorflow-distributed-volcano"
QUEUE = "scheduling.volcano.sh/queue-name"
PRIORITY = "kueue.x-k8s.io/priority-class"
PLACE = "example.com/place"
ATTEMPT = "jobset.sigs.k8s.io/restart-attempt"
TRAINER = "deployment/kubeflow-trainer-controller-manager"

# Test and scripts speak through files of the checkpoint volume, which all of them see. Every script says when it runs.
TOOLS = """
import json, os, pathlib, signal, sys, time
shared = pathlib.Path("/workspace/checkpoints", os.environ["TFRUN_NAMESPACE"])
run, attempt = os.environ["TFRUN_JOB"], int(os.environ["TFRUN_ATTEMPT"])
index = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
def until(name):
    while not (shared / name).exists():
        time.sleep(0.1)
def say(name):
    (shared / name).touch()
"""
HERE = "say(f'{run}-{index}-{attempt}-{os.getpid()}')\n"
BEGIN = TOOLS + HERE
UNTIL_TOLD = BEGIN + "until('end')\n"
UNTIL_STOPPED = f"""{TOOLS}
signal.signal(signal.SIGTERM, lambda *_: sys.exit(say(f"{{run}}-{{index}}-stopped")))
{HERE}until('end')
"""
RESUMING = f"""{TOOLS}
saved = shared / "step"
step = int(saved.read_text()) if saved.exists() else 0
def stop(*_):
    if index == 0:
        saved.write_text(str(step))
    sys.exit(82)
signal.signal(signal.SIGTERM, stop)
say(f"{{run}}-{{index}}-from-{{step}}")
{HERE}
while not (shared / "end").exists():
    step += 1
    time.sleep(0.1)
"""


@pytest.fixture
def shared(namespace: Namespace) -> Iterator[Path]:
    """The folder on the checkpoint volume that the scripts of a namespace call `shared`."""
    folder = namespace.cluster.lab.state / "checkpoints" / namespace.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    folder.chmod(0o777)  # the scripts are another user
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def places(cluster: Cluster) -> Iterator[Callable[[int], None]]:
    """The node has room for one pod that asks for a PLACE; then for as many as this is called with."""
    with devices(cluster, PLACE, 1) as room:
        yield room


@pytest.fixture
def small_queue(namespace: Namespace) -> Iterator[str]:
    """A Volcano queue for 3 GPUs; its name."""
    head = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": namespace.name}}
    namespace.cluster.apply({**head, "spec": {"capability": {"cpu": "1", "memory": "9Gi", "nvidia.com/gpu": "3"}}})
    yield namespace.name
    namespace.cluster.kubectl("delete", "queue.scheduling.volcano.sh", namespace.name, "--wait=false")


def gang(namespace: Namespace, name: str, script: str, *, queue: str, workers: int = 2, gpus: int = 1) -> None:
    """Applies a run of a Volcano queue."""
    code, run = trainjob(name, script, workers=workers, gpus=gpus, runtime=VOLCANO, queue=None)
    [patch] = run["spec"]["runtimePatches"]
    patch["trainingRuntimeSpec"]["template"]["metadata"] = {"annotations": {QUEUE: queue}}
    namespace.apply(code, run)


def placed(namespace: Namespace, run: str) -> list[str]:
    """The run's pods that have a node."""
    return [pod["metadata"]["name"] for pod in namespace.pods(run) if pod["spec"].get("nodeName")]


def begun(namespace: Namespace, shared: Path, run: str, *, attempt: int = 0, workers: int = 2) -> list[int]:
    """Waits until the scripts of all workers run; their process ids."""

    def found() -> list[int]:
        marks = [list(shared.glob(f"{run}-{index}-{attempt}-*")) for index in range(workers)]
        return [int(mark.name.rpartition("-")[2]) for [mark] in marks] if all(marks) else []

    namespace.wait(f"{run} begun", lambda: bool(found()))
    return found()


def usage(namespace: Namespace) -> dict[str, str]:
    """What the namespace's ClusterQueue has given away, by resource."""
    [flavor] = namespace.cluster.get("clusterqueue", namespace.name)["status"]["flavorsUsage"]
    return {each["name"]: each["total"] for each in flavor["resources"]}


def workload(namespace: Namespace, run: str) -> Manifest:
    """The Workload that Kueue made of a run; empty as long as there is none."""
    return next(iter(namespace.workloads(run)), {})


def refusal(namespace: Namespace, run: str) -> str:
    """Why Kueue does not admit a run, in its words."""
    quota = condition(workload(namespace, run), "QuotaReserved")
    return str(quota.get("message", "")) if quota.get("status") == "False" else ""


def condition(found: Manifest, name: str) -> Manifest:
    """A condition of an object, true or not; empty if it has none."""
    conditions: list[Manifest] = found.get("status", {}).get("conditions", [])
    return next((each for each in conditions if each["type"] == name), {})


def test_each_loss_of_a_worker_restarts_the_whole_gang(namespace: Namespace, shared: Path) -> None:
    script = BEGIN + "if attempt < 3:\n    until(f'fail-{attempt}')\n    sys.exit(7)\n"
    namespace.apply(*trainjob("lossy", script))
    seen: set[str] = set()
    for attempt in range(4):
        _, process = begun(namespace, shared, "lossy", attempt=attempt)
        pods = namespace.pods("lossy")
        assert {pod["metadata"]["labels"][ATTEMPT] for pod in pods} == {str(attempt)}
        assert seen.isdisjoint(pod["metadata"]["uid"] for pod in pods)
        seen |= {pod["metadata"]["uid"] for pod in pods}
        name = pods[1]["metadata"]["name"]
        if attempt == 0:
            namespace.kubectl("delete", "pod", name, "--wait=false")
        elif attempt == 1:
            with contextlib.suppress(subprocess.CalledProcessError):  # tfrun ends with its script, and what was executed with tfrun
                namespace.kubectl("exec", name, "--", "python3", "-c", f"import os; os.kill({process}, 9)")
        elif attempt == 2:
            (shared / "fail-2").touch()
    namespace.complete("lossy")
    assert namespace.jobset("lossy")["status"]["restarts"] == 3
    assert len(seen) == 8


def test_a_script_that_always_fails_ends_failed_and_frees_its_gpus(namespace: Namespace, shared: Path) -> None:
    namespace.apply(*trainjob("broken", BEGIN + "sys.exit(3)\n", gpus=2))
    namespace.wait("broken ended", lambda: bool(namespace.ended("broken")), 300)
    assert namespace.ended("broken") == "Failed"
    assert namespace.jobset("broken")["status"]["restarts"] == 3
    assert {int(mark.name.split("-")[2]) for mark in shared.glob("broken-*")} == {0, 1, 2, 3}
    namespace.wait("no pod of broken left at work", lambda: {p["status"]["phase"] for p in namespace.items("pods")} <= {"Failed"})
    namespace.wait("the Workload finished", lambda: condition(workload(namespace, "broken"), "Finished").get("status") == "True")
    namespace.wait("the quota free again", lambda: usage(namespace)["nvidia.com/gpu"] == "0")
    namespace.apply(*trainjob("next", BEGIN, gpus=2))  # needs the whole quota
    namespace.complete("next")


@pytest.mark.long
def test_the_controller_away_stops_no_gang(namespace: Namespace, shared: Path) -> None:
    namespace.apply(*trainjob("steady", UNTIL_TOLD))
    begun(namespace, shared, "steady")

    def kubectl(*words: str) -> None:
        namespace.cluster.kubectl("--namespace=kubeflow-system", *words)

    kubectl("scale", TRAINER, "--replicas=0")
    try:
        kubectl("delete", "pods", "--selector=app.kubernetes.io/name=trainer", "--grace-period=1", "--wait")
        with pytest.raises(subprocess.CalledProcessError) as refused:
            namespace.apply(*trainjob("patient", BEGIN))
        (shared / "end").touch()
        namespace.wait("the JobSet completed", lambda: namespace.condition("jobset", "steady", "Completed") is not None)
        assert not namespace.ended("steady")
    finally:
        kubectl("scale", TRAINER, "--replicas=1")
        kubectl("rollout", "status", TRAINER)
    assert "failed calling webhook" in refused.value.stderr
    namespace.complete("steady")
    assert namespace.jobset("steady")["status"].get("restarts", 0) == 0
    namespace.apply(*trainjob("patient", BEGIN))
    namespace.complete("patient")


def test_workers_wait_while_dns_is_away(namespace: Namespace, shared: Path) -> None:
    socket = f"unix://{namespace.cluster.lab.state / 'supervisor.sock'}"
    programs = xmlrpc.client.ServerProxy("http://127.0.0.1", SupervisorTransport(None, None, socket)).supervisor
    programs.stopProcess("coredns")
    try:
        namespace.apply(*trainjob("nameless", BEGIN))
        namespace.wait("both workers up", lambda: namespace.running("nameless") == 2)
        namespace.wait("worker 1 says what is missing", lambda: "nameless-node-0-0" in namespace.logs("nameless", 1))
    finally:
        programs.startProcess("coredns")
    namespace.complete("nameless")
    assert " is not in DNS. Is the pod of worker 0 there" in namespace.logs("nameless", 1)
    assert len(list(shared.glob("nameless-*-0-*"))) == 2


def test_all_wait_for_a_worker_that_comes_late(namespace: Namespace, shared: Path, places: Callable[[int], None]) -> None:
    code, run = trainjob("late", BEGIN, queue=None)
    for amounts in run["spec"]["trainer"]["resourcesPerNode"].values():
        amounts[PLACE] = "1"
    namespace.apply(code, run)
    namespace.wait("one worker up", lambda: namespace.running("late") == 1)
    phases = [pod["status"]["phase"] for pod in namespace.pods("late")]
    here, missing = phases.index("Running"), phases.index("Pending")
    what = "late-node-0-0." if missing == 0 else f"1 of 2 workers, waiting for index {missing}"
    namespace.wait("the one says whom it waits for", lambda: f"tfrun: {what}" in namespace.logs("late", here))
    assert not list(shared.iterdir())
    places(2)
    namespace.complete("late")
    assert namespace.jobset("late")["status"].get("restarts", 0) == 0
    assert len(list(shared.glob("late-*-0-*"))) == 2


def test_kueue_starts_no_part_of_a_gang(namespace: Namespace, shared: Path) -> None:
    namespace.apply(*trainjob("first", UNTIL_TOLD))
    begun(namespace, shared, "first")
    namespace.apply(*trainjob("half", BEGIN, workers=3), *trainjob("large", BEGIN, workers=5))
    for run, reason in {"half": "insufficient unused quota for nvidia.com/gpu", "large": "insufficient quota for nvidia.com/gpu"}.items():
        namespace.wait(f"Kueue says why {run} waits", lambda run=run, reason=reason: reason in refusal(namespace, run))
    assert {pod["metadata"]["labels"][JOBSET_NAME] for pod in namespace.items("pods")} == {"first"}
    (shared / "end").touch()
    namespace.complete("first")
    namespace.complete("half")
    assert not namespace.pods("large")


def test_volcano_starts_no_part_of_a_gang(namespace: Namespace, shared: Path, small_queue: str) -> None:
    gang(namespace, "first", UNTIL_TOLD, queue=small_queue)
    begun(namespace, shared, "first")
    gang(namespace, "half", BEGIN, queue=small_queue)
    gang(namespace, "large", BEGIN, queue="default", workers=5, gpus=2)
    waiting = {"half": "queue resource quota insufficient: insufficient nvidia.com/gpu", "large": "resource in cluster is overused"}
    for run, reason in waiting.items():
        namespace.wait(f"Volcano says why {run} waits", lambda run=run, reason=reason: reason in " ".join(namespace.events(run)))
        assert namespace.get("podgroup", run)["status"]["phase"] == "Pending"
        assert not placed(namespace, run)
    (shared / "end").touch()
    namespace.complete("first")
    namespace.complete("half")
    assert not placed(namespace, "large")


def test_an_urgent_run_stops_a_routine_one_which_resumes(namespace: Namespace, shared: Path) -> None:
    one_run_at_a_time = [
        {"op": "add", "path": "/spec/preemption", "value": {"withinClusterQueue": "LowerPriority"}},
        {"op": "replace", "path": "/spec/resourceGroups/0/flavors/0/resources/2/nominalQuota", "value": "2"},
    ]
    namespace.cluster.kubectl("patch", "clusterqueue", namespace.name, "--type=json", f"--patch={json.dumps(one_run_at_a_time)}")
    namespace.apply(*trainjob("routine", RESUMING, labels={PRIORITY: "routine"}))
    begun(namespace, shared, "routine")
    namespace.apply(*trainjob("urgent", BEGIN + "until('urgent-end')\n", labels={PRIORITY: "urgent"}))
    begun(namespace, shared, "urgent")
    stopped = workload(namespace, "routine")
    assert condition(stopped, "Evicted")["reason"] == "Preempted"
    assert condition(stopped, "Preempted")["status"] == "True"
    assert namespace.condition("trainjob", "routine", "Suspended")
    assert not namespace.pods("routine")
    saved = (shared / "step").read_text(encoding="utf-8")
    (shared / "urgent-end").touch()
    namespace.complete("urgent")
    namespace.wait("routine resumed", lambda: len(list(shared.glob(f"routine-*-from-{saved}"))) == 2)
    (shared / "end").touch()
    namespace.complete("routine")


def test_a_deleted_run_stops_its_script_and_leaves_nothing(namespace: Namespace, shared: Path, small_queue: str) -> None:
    gang(namespace, "live", UNTIL_STOPPED, queue=small_queue)
    namespace.apply(*trainjob("early", BEGIN, env={"TF_NUM_WORKERS": "3"}))  # never more than two: stays in discovery
    begun(namespace, shared, "live")
    namespace.wait("both workers of early up", lambda: namespace.running("early") == 2)
    for index in (0, 1):
        namespace.wait("early in discovery", lambda index=index: "waiting for index 2" in namespace.logs("early", index))
    kinds = "jobsets,jobs,pods,services,workloads,podgroups"
    before = {each["kind"] for each in namespace.items(kinds)}
    assert before == {"JobSet", "Job", "Pod", "Service", "Workload", "PodGroup"}
    namespace.kubectl("delete", "trainjob", "live", "early")
    # Their grace period is 300 s: who lives longer than this has not heard SIGTERM.
    namespace.wait("nothing left", lambda: not namespace.items(kinds), 150)
    assert {mark.name for mark in shared.glob("live-*-stopped")} == {"live-0-stopped", "live-1-stopped"}


def test_kueue_of_this_version_drops_a_grace_period_in_a_runtime_patch(namespace: Namespace) -> None:
    """Kueue 0.17 was built with Trainer 2.2's types: its update of the TrainJob loses the field that came with 2.3."""
    namespace.apply(*trainjob("stuck", "", pod={"terminationGracePeriodSeconds": 30}))
    namespace.wait("the Workload admitted", lambda: condition(workload(namespace, "stuck"), "Admitted").get("status") == "True")
    refused = "TrainJobResourcesCreationFailed"
    namespace.wait("JobSet refuses the change", lambda: any(refused in event for event in namespace.events("stuck")))
    assert any('"vjobset.kb.io" denied the request' in event for event in namespace.events("stuck"))
    assert namespace.jobset("stuck")["spec"]["suspend"]
    assert not namespace.pods("stuck")
    namespace.wait("its quota held", lambda: usage(namespace)["nvidia.com/gpu"] == "2")
