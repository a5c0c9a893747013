"""The cluster's runs train in the lab; and what they rest on: names, devices and capabilities, checkpoints."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab import binaries, model, node
from tests.edit import edit_file
from tests.lab.live import Cluster, Manifest, Namespace, trainjob

RUNS = model.HERE / "runs"
IPC_LOCK = 1 << 14
PEER = """
import json, os, socket, time
me = json.loads(os.environ["TF_CONFIG"])
host = me["cluster"]["worker"][1 - me["task"]["index"]].split(":")[0]
print("peer at", socket.gethostbyname(host + "."))
time.sleep(3600)
"""
COREFILE = """
.:53 {
    log
    ready :8181
    cache 30
    forward . %s
}
"""
QUICK = (  # a tenth of the reference's work
    '- {name: EPOCHS, value: "2"}',
    '- {name: EPOCHS, value: "4"}\n    - {name: MODEL, value: cnn}\n    - {name: LEARNING_RATE, value: "0.05"}\n    - {name: AUGMENT, value: none}',
)
KILLED = """
[ "$TFRUN_ATTEMPT/$JOB_COMPLETION_INDEX" = 0/1 ] && exec python3 /workspace/code/interrupt.py /workspace/code 8 9
exec python3 /workspace/code/train.py
"""
pytestmark = pytest.mark.lab


@dataclass(frozen=True, kw_only=True, slots=True)
class Training:
    """A run of the cluster, or a copy of one under another name whose TrainJob differs in some texts."""

    name: str
    overlay: str
    copy_of: str = ""
    edits: tuple[tuple[str, str], ...] = ()
    workers: int = 2
    tensorflow: str = "2.15"


TRAININGS = (
    Training(name="reference-kueue", overlay="no-ib-kueue"),
    Training(name="reference-volcano-ib", overlay="ib-volcano"),
    Training(
        name="reference-kueue-ib",
        overlay="ib-kueue",
        copy_of="reference-kueue",
        edits=(("name: tensorflow-distributed\n", "name: tensorflow-distributed-ib\n"), QUICK),
    ),
    Training(name="fewer-nodes", overlay="no-ib-volcano", copy_of="more-nodes", edits=(("numNodes: 4", "numNodes: 2"),)),
    Training(name="more-nodes", overlay="no-ib-volcano", workers=4),
    Training(
        name="todays-tensorflow",
        overlay="no-ib-kueue",
        copy_of="reference-kueue",
        edits=(("numNodes: 2\n", "numNodes: 2\n    image: localhost/tensorflow:2.21\n"), QUICK),
        tensorflow="2.21",
    ),
    Training(name="own-script", overlay="ib-kueue"),
)


@pytest.fixture(scope="module")
def trainings(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Namespace]:
    """All of them applied at once: the queues decide which go first, and the tests below run beside them."""
    folders = [_folder(each, tmp_path_factory.mktemp("runs")) for each in TRAININGS]
    _remove(cluster, folders)
    for folder in folders:
        cluster.kubectl("apply", "--server-side", f"--kustomize={folder}")
    yield Namespace(cluster=cluster, name="training")
    _remove(cluster, folders)


@pytest.mark.usefixtures("diagnostics")
def test_a_number_alone_makes_a_run_larger(trainings: Namespace) -> None:
    """Two runs, alike but for numNodes and what the run's own replacement makes of it."""
    small, large = (trainings.get("trainjob", name)["spec"] for name in ("fewer-nodes", "more-nodes"))
    assert [each["trainer"]["numNodes"] for each in (small, large)] == [2, 4]
    assert [_environment(each["trainer"])["TF_NUM_WORKERS"] for each in (small, large)] == ["2", "4"]
    large["trainer"]["numNodes"] = 2
    next(each for each in large["trainer"]["env"] if each["name"] == "TF_NUM_WORKERS")["value"] = "2"
    for spec in (small, large):
        for patch in spec["runtimePatches"]:
            patch.pop("time", None)
    assert small == json.loads(json.dumps(large).replace("more-nodes", "fewer-nodes"))


def test_a_peer_has_a_name_before_it_is_ready(namespace: Namespace) -> None:
    spec = _runtime(namespace)
    _pod(spec)["containers"][0]["readinessProbe"] = {"exec": {"command": ["false"]}}
    _start(namespace, "unready", PEER, spec)
    namespace.wait("each has found the other", lambda: all("peer at" in namespace.logs("unready", index) for index in (0, 1)))
    pods = namespace.pods("unready")
    assert not any(_is_ready(pod) for pod in pods)
    found = [namespace.logs("unready", index).split("peer at ")[1].split()[0] for index in (1, 0)]
    assert found == [pod["status"]["podIP"] for pod in pods]


def test_who_comes_first_asks_for_no_address_that_a_cache_would_deny(namespace: Namespace) -> None:
    """Worker 1 asks while worker 0 has no name yet, and asks a cache that remembers for 30 s what does not exist."""
    namespace.apply(*_cache(COREFILE % model.GATEWAY))
    namespace.wait("the cache", lambda: _is_ready(namespace.get("pod", "cache")))
    searches = [f"{namespace.name}.svc.{model.DOMAIN}", f"svc.{model.DOMAIN}", model.DOMAIN]
    spec = _runtime(namespace)
    _pod(spec)["schedulingGates"] = [{"name": "example.com/one-after-the-other"}]
    _pod(spec)["dnsPolicy"] = "None"
    _pod(spec)["dnsConfig"] = {"nameservers": [namespace.get("pod", "cache")["status"]["podIP"]], "searches": searches}
    _start(namespace, "early", "print('trained')", spec)
    _schedule(namespace, "early", 1)
    name = f"early-node-0-0.early.{namespace.name}.svc.{model.DOMAIN}."

    def answers() -> list[tuple[str, str]]:
        """The type asked for and what the answer was, of each question about worker 0."""
        asked = re.findall(r'"(\S+) IN (\S+) [^"]*" ([A-Z]+) ', namespace.kubectl("logs", "cache", "--tail=-1"))
        return [(kind, answer) for kind, about, answer in asked if about == name]

    namespace.wait("worker 1 has asked more than once", lambda: len(answers()) > 1)
    assert {answer for _, answer in answers()} == {"NXDOMAIN"}
    _schedule(namespace, "early", 0)
    namespace.complete("early")
    addresses = [answer for kind, answer in answers() if kind in ("A", "AAAA")]
    assert addresses and set(addresses) == {"NOERROR"}


def test_infiniband_is_devices_and_locked_memory(namespace: Namespace) -> None:
    """The capabilities are those of the training itself, tfrun's child.

    Kueue 0.17 is built on Trainer 2.2, where resourcesPerNode replaces the runtime's resources: the devices that the
    pods of `unnamed` get by Trainer 2.3, which merges, are taken from no quota.
    """
    script = "print(open('/proc/self/status').read())"
    named = trainjob("named", script, runtime="tensorflow-distributed-ib")
    for amounts in named[1]["spec"]["trainer"]["resourcesPerNode"].values():
        amounts["nvidia.com/hostdev"] = "2"
    namespace.apply(*named, *trainjob("unnamed", script, runtime="tensorflow-distributed-ib"), *trainjob("plain", script))
    for run, capabilities, devices, counted in (("named", IPC_LOCK, "2", "4"), ("unnamed", IPC_LOCK, "2", None), ("plain", 0, None, None)):
        namespace.complete(run)
        assert int(namespace.logs(run).split("CapEff:")[1].split()[0], 16) == capabilities
        for pod in namespace.pods(run):
            resources = pod["spec"]["containers"][0]["resources"]
            assert [resources[each].get("nvidia.com/hostdev") for each in ("requests", "limits")] == [devices, devices]
        (workload,) = _of(run, namespace.items("workloads"))
        assert workload["status"]["admission"]["podSetAssignments"][0]["resourceUsage"].get("nvidia.com/hostdev") == counted


def test_more_devices_than_the_node_has_are_waited_for(namespace: Namespace) -> None:
    objects = trainjob("wide", "print('trained')", runtime="tensorflow-distributed-ib", queue=None)
    for amounts in objects[1]["spec"]["trainer"]["resourcesPerNode"].values():
        amounts["nvidia.com/hostdev"] = "9"
    namespace.apply(*objects)

    def refused() -> bool:
        events = [namespace.events(pod["metadata"]["name"]) for pod in namespace.pods("wide")]
        return len(events) == 2 and all("Insufficient nvidia.com/hostdev" in " ".join(each) for each in events)

    namespace.wait("the scheduler says what is missing", refused)
    assert {pod["status"]["phase"] for pod in namespace.pods("wide")} == {"Pending"}


def test_a_killed_worker_restarts_the_gang_which_goes_on_at_the_checkpoint(namespace: Namespace, tmp_path: Path) -> None:
    """11 steps an epoch, saved at step 5; the training of worker 1 is killed when its step 8 begins."""
    name = f"resumed-{namespace.name}"
    variables = "".join(f"\n    - {{name: {key}, value: {value}}}" for key, value in (("CHECKPOINT_STEPS", '"5"'), ("MODEL", "cnn")))
    epochs = '- {name: EPOCHS, value: "2"}'
    edits = (
        ("python3, /workspace/code/train.py]", f"sh, -c, {json.dumps(KILLED)}]"),
        (epochs, epochs + variables),
        ("namespace: training", f"namespace: {namespace.name}"),
        ("cpu: 150m", "cpu: 50m"),  # beside the trainings of the other tests
    )
    folder = _folder(Training(name=name, overlay="no-ib-kueue", copy_of="reference-kueue", edits=edits), tmp_path)
    elsewhere = {"replace": "namespace: training", "with": f"namespace: {namespace.name}"}
    edit_file(folder / "networkpolicy.yaml", elsewhere)
    edit_file(folder / "kustomization.yaml", elsewhere, {"replace": "  - journal.py\n", "with": "  - interrupt.py\n  - journal.py\n"})
    shutil.copy(model.ROOT / "tests" / "training" / "interrupt.py", folder)
    kept = namespace.cluster.lab.state / "checkpoints" / name
    shutil.rmtree(kept, ignore_errors=True)
    try:
        namespace.kubectl("apply", "--server-side", f"--kustomize={folder}")
        namespace.complete(name, seconds=900)
        history = [json.loads(line) for line in (kept / "history.jsonl").read_text(encoding="utf-8").splitlines()]
    finally:
        shutil.rmtree(kept, ignore_errors=True)
    assert namespace.jobset(name)["status"]["restarts"] == 1
    attempts = [pod["metadata"]["labels"]["jobset.sigs.k8s.io/restart-attempt"] for pod in namespace.pods(name)]
    assert attempts == ["1", "1"]
    assert "22 steps, 11 an epoch; resumed at step 5" in namespace.logs(name)
    assert [(each["epoch"], each["step"]) for each in history] == [(1, 11), (2, 22)]


@pytest.mark.usefixtures("diagnostics")
@pytest.mark.parametrize("run", TRAININGS, ids=lambda run: run.name)
def test_a_run_trains_to_its_end(run: Training, trainings: Namespace) -> None:
    trainings.complete(run.name, seconds=1800)
    job, pods = trainings.get("trainjob", run.name), trainings.pods(run.name)

    hosts = [f"{run.name}-node-0-{index}" for index in range(run.workers)]
    assert [(pod["spec"]["hostname"], pod["spec"]["subdomain"]) for pod in pods] == [(host, run.name) for host in hosts]
    cluster = ", ".join(f"{host}.{run.name}.training.svc.{model.DOMAIN}:12345" for host in hosts)
    for index in range(run.workers):
        assert f"tfrun: starting worker {index} of {run.workers}: {cluster}\n" in trainings.logs(run.name, index)

    wanted = _environment(job["spec"]["trainer"])
    for pod in pods:
        names = [each["name"] for each in pod["spec"]["containers"][0]["env"]]
        assert len(names) == len(set(names))
        assert wanted.items() <= _environment(pod["spec"]["containers"][0]).items()

    groups, workloads = (_of(run.name, trainings.items(kind)) for kind in ("podgroups", "workloads"))
    if run.overlay.endswith("volcano"):
        assert [group["spec"]["minMember"] for group in groups] == [run.workers]
        assert not workloads
    else:
        (workload,) = workloads
        assert trainings.condition("workload", workload["metadata"]["name"], "Admitted")
        assert not groups

    accuracy = float(re.findall(r"(?:Test Accuracy|val_accuracy): ([01]\.\d+)", trainings.logs(run.name))[-1])
    print(f"{run.overlay}, TensorFlow {run.tensorflow}, {run.workers} workers, {run.name}: accuracy {accuracy:.4f}")
    assert accuracy > 0.6  # chance is 0.1
    if run.name != "own-script":
        assert job["status"]["trainerStatus"]["progressPercentage"] == 100
        assert f"epoch {wanted['EPOCHS']}/{wanted['EPOCHS']} " in trainings.logs(run.name)
        assert "Test Accuracy" not in trainings.logs(run.name, 1)
        described = json.loads((trainings.cluster.lab.state / "checkpoints" / run.name / "run.json").read_text(encoding="utf-8"))
        assert described["versions"]["tensorflow"].startswith(f"{run.tensorflow}.")


def _folder(run: Training, place: Path) -> Path:
    """The folder of a run: the repository's own, or a copy with the run's name and edits."""
    if not run.copy_of:
        return RUNS / run.name
    folder = place / run.name
    shutil.copytree(RUNS / run.copy_of, folder)
    for name in ("trainjob.yaml", "kustomization.yaml", "networkpolicy.yaml"):
        text = (folder / name).read_text(encoding="utf-8")
        (folder / name).write_text(text.replace(f"name: {run.copy_of}", f"name: {run.name}"), encoding="utf-8")
    edit_file(folder / "trainjob.yaml", *({"replace": old, "with": new} for old, new in run.edits))
    return folder


def _remove(cluster: Cluster, folders: list[Path]) -> None:
    """The runs, and the checkpoints from which they would go on; a pod that is told to end writes one more before."""
    for wait in ("false", "true"):
        for folder in folders:
            cluster.kubectl("delete", "--ignore-not-found", "--cascade=foreground", f"--wait={wait}", f"--kustomize={folder}")
    for folder in folders:
        shutil.rmtree(cluster.lab.state / "checkpoints" / folder.name, ignore_errors=True)


def _runtime(namespace: Namespace) -> Manifest:
    """The spec of the plain runtime, to be changed."""
    spec: Manifest = namespace.cluster.get("clustertrainingruntime", "tensorflow-distributed")["spec"]
    return spec


def _pod(runtime: Manifest) -> Manifest:
    spec: Manifest = runtime["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    return spec


def _start(namespace: Namespace, name: str, script: str, runtime: Manifest) -> None:
    """A run with a runtime of its own."""
    kind = "TrainingRuntime"
    objects = trainjob(name, script)
    objects[1]["spec"]["runtimeRef"] = {"kind": kind, "name": name}
    namespace.apply({"apiVersion": objects[1]["apiVersion"], "kind": kind, "metadata": {"name": name}, "spec": runtime})
    namespace.apply(*objects)


def _cache(corefile: str) -> list[Manifest]:
    """A caching CoreDNS in a pod, which logs every question."""
    container = {
        "name": "coredns",
        "image": node.SANDBOX,
        "command": ["/coredns", "-conf", "/etc/coredns/Corefile"],
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8181}},
        "volumeMounts": [{"name": "program", "mountPath": "/coredns"}, {"name": "config", "mountPath": "/etc/coredns"}],
    }
    volumes = [
        {"name": "program", "hostPath": {"path": str(binaries.binary("coredns")), "type": "File"}},
        {"name": "config", "configMap": {"name": "cache"}},
    ]
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cache"}, "data": {"Corefile": corefile}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "cache"}, "spec": {"containers": [container], "volumes": volumes}},
    ]


def _schedule(namespace: Namespace, run: str, index: int) -> None:
    """Opens the gate of a worker's pod."""
    namespace.wait("the gang's pods", lambda: len(namespace.pods(run)) == 2)
    patch = '[{"op": "remove", "path": "/spec/schedulingGates"}]'
    namespace.kubectl("patch", "pod", namespace.pods(run)[index]["metadata"]["name"], "--type=json", f"--patch={patch}")


def _is_ready(pod: Manifest) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", []))


def _environment(container: Manifest) -> dict[str, str]:
    """The variables of a container or trainer that are given by value."""
    return {each["name"]: each["value"] for each in container["env"] if "value" in each}


def _of(run: str, objects: list[Manifest]) -> list[Manifest]:
    """Those that a TrainJob owns."""
    return [each for each in objects if run in [owner["name"] for owner in each["metadata"].get("ownerReferences", [])]]
