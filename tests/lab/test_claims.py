"""What rules say of Kubernetes and Trainer, where a run of the repository's runtime is more than it takes to show it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from gate.evaluate import Evaluator
from tests.lab.conftest import Cluster, own, present
from tests.lab.live import Manifest, Namespace, surroundings, trainjob
from tests.lab.test_gate_and_cluster import findings
from tests.lab.test_gate_and_cluster import refusal as refusal_of

pytestmark = pytest.mark.lab
IMAGE = "nvcr.io/nvidia/tensorflow:24.03-tf2-py3"
IPC_LOCK = 1 << 14
STATUS = "print(open('/proc/self/status').read())"
SIZE = "import os; found = os.statvfs('/dev/shm'); print(found.f_blocks * found.f_frsize)"
FILL = "import time\nwith open('/dev/shm/data', 'wb') as file:\n    for _ in range(96): file.write(bytes(1 << 20))\ntime.sleep(3600)"
FLAVOR = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "test-claims"}}


@pytest.fixture(scope="module")
def place(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Namespace]:
    """One namespace for all, in which nobody's name is another's."""
    with own(cluster, request) as namespace:
        yield namespace


def pod(name: str, script: str, *, container: Manifest | None = None, **spec: object) -> Manifest:
    """A pod of one container that runs a Python script once."""
    made = {"name": "main", "image": IMAGE, "command": ["python3", "-u", "-c", script], **(container or {})}
    more = {"restartPolicy": "Never", "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [made], **more}}


def output(place: Namespace, made: Manifest) -> str:
    """What a pod has written when it has succeeded."""
    name = made["metadata"]["name"]
    place.apply(made)
    place.wait(f"{name} ended", lambda: place.get("pod", name)["status"]["phase"] in ("Succeeded", "Failed"))
    assert place.get("pod", name)["status"]["phase"] == "Succeeded"
    return place.kubectl("logs", name)


def refusal(place: Namespace, made: Manifest, *words: str) -> str:
    """Nothing, or what the API server says against making an object: nothing is made."""
    words = ("create", "--dry-run=server", "--output=name", "--filename=-", *words)
    try:
        place.cluster.kubectl(*words, given=yaml.safe_dump(made))
    except subprocess.CalledProcessError as error:
        return str(error.stderr)
    return ""


def test_a_capability_has_no_effect_for_another_user_than_root(place: Namespace) -> None:
    added = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"], "add": ["IPC_LOCK"]}}
    for user, effective in ((0, IPC_LOCK), (1000, 0)):
        status = output(place, pod(f"user-{user}", STATUS, container={"securityContext": {**added, "runAsUser": user}}))
        assert int(status.split("CapBnd:")[1].split()[0], 16) == IPC_LOCK
        assert int(status.split("CapEff:")[1].split()[0], 16) == effective


def test_a_container_has_64_mib_of_shared_memory(place: Namespace) -> None:
    assert int(output(place, pod("shared-memory", SIZE))) == 64 << 20


def test_what_is_written_to_shared_memory_counts_against_the_memory_limit(place: Namespace) -> None:
    limited = {
        "resources": {"limits": {"memory": "64Mi"}, "requests": {"cpu": "10m"}},
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
    }
    volume = {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "128Mi"}}
    place.apply(pod("filled", FILL, container=limited, volumes=[volume]))
    place.wait("it was killed", lambda: place.get("pod", "filled")["status"]["phase"] == "Failed")
    [container] = place.get("pod", "filled")["status"]["containerStatuses"]
    assert container["state"]["terminated"]["reason"] == "OOMKilled"


def test_pods_above_the_level_of_their_namespace_are_refused_and_nothing_above_them(namespace: Namespace) -> None:
    namespace.kubectl("label", "namespace", namespace.name, "pod-security.kubernetes.io/enforce=baseline")
    namespace.apply(*trainjob("locked", "", runtime="tensorflow-distributed-ib"))
    namespace.wait("the reason", lambda: "violates PodSecurity" in str(namespace.events("locked-node-0")))
    assert "IPC_LOCK" in str(namespace.events("locked-node-0"))
    assert namespace.items("pods") == []
    assert not namespace.ended("locked")


SECURE: Manifest = {
    "allowPrivilegeEscalation": False,
    "runAsNonRoot": True,
    "runAsUser": 1000,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
FORBIDDEN: dict[str, tuple[str, Manifest, Manifest]] = {  # by which level, in what words: fields of the container, of the pod
    "privileged": ("baseline", {"securityContext": {"privileged": True}}, {}),
    "hostPort": ("baseline", {"ports": [{"containerPort": 12345, "hostPort": 12345}]}, {}),
    "hostPID=true": ("baseline", {}, {"hostPID": True}),
    "hostNetwork=true": ("baseline", {}, {"hostNetwork": True}),
    "hostIPC=true": ("baseline", {}, {"hostIPC": True}),
    "hostPath volumes": ("baseline", {}, {"volumes": [{"name": "data", "hostPath": {"path": "/data"}}]}),
    "allowPrivilegeEscalation != false": ("restricted", {"securityContext": {**SECURE, "allowPrivilegeEscalation": None}}, {}),
    "unrestricted capabilities": ("restricted", {"securityContext": {**SECURE, "capabilities": {}}}, {}),
    "runAsNonRoot != true": ("restricted", {"securityContext": {**SECURE, "runAsNonRoot": None}}, {}),
    "runAsUser=0": ("restricted", {"securityContext": {**SECURE, "runAsUser": 0}}, {}),
    "seccompProfile": ("restricted", {"securityContext": {**SECURE, "seccompProfile": None}}, {}),
    "restricted volume types": ("restricted", {}, {"volumes": [{"name": "data", "nfs": {"server": "files", "path": "/"}}]}),
}


def test_what_the_levels_forbid(cluster: Cluster, tmp_path: Path, opa: Evaluator) -> None:
    """Beside pods that the levels let in, root in a user namespace among them; the gate judges JobSets of the same pods."""
    label = "pod-security.kubernetes.io/enforce"
    levels = ("baseline", "restricted")
    namespaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"test-{each}", "labels": {label: each}}} for each in levels
    ]
    secure = {"baseline": {}, "restricted": {"securityContext": SECURE}}
    pods = {f"sound-{level}": (level, pod(f"sound-{level}", "", container=secure[level])) for level in levels}
    root = {"securityContext": {**SECURE, "runAsNonRoot": False, "runAsUser": 0}}
    pods["sound-root"] = ("restricted", pod("sound-root", "", container=root, hostUsers=False))
    for number, (level, container, spec) in enumerate(FORBIDDEN.values()):
        pods[f"fault-{number}"] = (level, pod(f"fault-{number}", "", container={**secure[level], **container}, **spec))
    jobsets = []
    for level, made in pods.values():
        made["metadata"]["namespace"] = f"test-{level}"
        job = {"parallelism": 1, "backoffLimit": 0, "template": {"spec": made["spec"]}}
        jobs = {"replicatedJobs": [{"name": "node", "template": {"spec": job}}]}
        jobsets.append({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {**made["metadata"]}, "spec": jobs})
    told = findings([*namespaces, *jobsets], tmp_path / "jobsets.yaml", opa)
    faults = [name for name in pods if name.startswith("fault")]
    assert sorted(each.resource.name for each in told if each.resource and each.rule == "pods/pod-security") == sorted(faults)
    with present(cluster, *namespaces):
        said = ""

        def refused() -> bool:
            nonlocal said
            said = refusal_of(cluster, [made for _, made in pods.values()])
            return said.count("violates PodSecurity") == len(faults)

        cluster.wait("Pod Security knows the levels", refused)
        assert "sound" not in said
        lines = {name: line for line in said.splitlines() for name in faults if f'"{name}"' in line}
        assert [words for words, name in zip(FORBIDDEN, faults, strict=True) if words not in lines[name]] == []


def test_trainer_applies_what_takes_the_node(place: Namespace) -> None:
    taken = {
        "serviceAccountName": "somebody",
        "containers": [{"name": "node", "securityContext": {"privileged": True}}],
        "volumes": [{"name": "node", "hostPath": {"path": "/"}}],
    }
    (job,) = (each for each in trainjob("taken", "", queue=None, pod=taken) if each["kind"] == "TrainJob")
    job["spec"]["suspend"] = True
    place.apply(job)
    place.wait("its JobSet", lambda: place.items("jobsets", "--field-selector=metadata.name=taken") != [])
    made = place.jobset("taken")["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    assert made["serviceAccountName"] == "somebody"
    assert made["containers"][0]["securityContext"]["privileged"]
    assert "/" in [volume["hostPath"]["path"] for volume in made["volumes"] if "hostPath" in volume]


def test_a_trainjob_does_not_change_nor_does_a_quantity_that_is_stored_otherwise(place: Namespace) -> None:
    """As Argo CD applies: what is written again is an edit where the API server has stored something else."""
    (job,) = (each for each in trainjob("kept", "", queue=None) if each["kind"] == "TrainJob")
    job["spec"]["suspend"] = True
    for amounts in job["spec"]["trainer"]["resourcesPerNode"].values():
        amounts["memory"] = "2048Mi"
    place.apply(job)
    assert place.get("trainjob", "kept")["spec"]["trainer"]["resourcesPerNode"]["limits"]["memory"] == "2Gi"
    assert "spec.trainer: Invalid value: field is immutable" in applied(place, job)
    for amounts in job["spec"]["trainer"]["resourcesPerNode"].values():
        amounts["memory"] = "2Gi"
    assert applied(place, job) == ""
    job["spec"]["trainer"]["numNodes"] = 3
    assert "spec.trainer: Invalid value: field is immutable" in applied(place, job)


def test_what_replaces_is_refused_and_what_forces_makes_the_run_anew(place: Namespace) -> None:
    """As Argo CD does with the sync options Replace and Force, through kubectl's own code."""
    (job,) = (each for each in trainjob("edited", "", queue=None) if each["kind"] == "TrainJob")
    job["spec"]["suspend"] = True
    place.apply(job)
    uid = place.get("trainjob", "edited")["metadata"]["uid"]
    job["spec"]["trainer"]["numNodes"] = 3
    said: list[str] = []

    def refused() -> bool:  # a controller may write between kubectl's reading and its writing
        with pytest.raises(subprocess.CalledProcessError) as error:
            place.kubectl("replace", "--filename=-", given=yaml.safe_dump(job))
        said.append(error.value.stderr)
        return "the object has been modified" not in said[-1]

    place.wait("an answer to what is asked", refused)
    assert "spec.trainer: Invalid value: field is immutable" in said[-1]
    assert place.get("trainjob", "edited")["metadata"]["uid"] == uid
    place.kubectl("replace", "--force", "--filename=-", given=yaml.safe_dump(job))
    assert place.get("trainjob", "edited")["metadata"]["uid"] != uid


def test_what_replaces_a_waiting_run_takes_it_from_kueue(place: Namespace) -> None:
    (job,) = (each for each in trainjob("waiting", "", gpus=0) if each["kind"] == "TrainJob")
    for amounts in job["spec"]["trainer"]["resourcesPerNode"].values():
        amounts["memory"] = "5Gi"  # each of two, of 9
    place.apply(job)
    assert "kueue.x-k8s.io/manager" in managers(place, "waiting")
    place.wait("it is replaced", lambda: replaced(place, job))
    assert "kueue.x-k8s.io/manager" not in managers(place, "waiting")
    more = [{"op": "replace", "path": "/spec/resourceGroups/0/flavors/0/resources/1/nominalQuota", "value": "10Gi"}]
    place.cluster.kubectl("patch", "clusterqueue", place.name, "--type=json", f"--patch={json.dumps(more)}")

    def complaints() -> list[str]:
        log = place.cluster.kubectl("logs", "--namespace=kueue-system", "deployment/kueue-controller-manager", "--tail=-1")
        return [line for line in log.splitlines() if f"{place.name}/waiting" in line and "kueue runtime patch not found" in line]

    place.wait("Kueue cannot start it", lambda: bool(complaints()))
    assert place.get("trainjob", "waiting")["spec"]["suspend"]


def replaced(place: Namespace, job: Manifest) -> bool:
    """Whether no controller wrote between kubectl's reading and its writing."""
    try:
        place.kubectl("replace", "--filename=-", given=yaml.safe_dump(job))
    except subprocess.CalledProcessError as error:
        assert "the object has been modified" in error.stderr, error.stderr
        return False
    return True


def managers(place: Namespace, run: str) -> list[str]:
    return [each["manager"] for each in place.get("trainjob", run)["spec"]["runtimePatches"]]


def applied(place: Namespace, made: Manifest) -> str:
    """Nothing, or what the API server says against applying an object: nothing is applied."""
    try:
        place.kubectl("apply", "--server-side", "--force-conflicts", "--dry-run=server", "--filename=-", given=yaml.safe_dump(made))
    except subprocess.CalledProcessError as error:
        return str(error.stderr)
    return ""


def test_an_unknown_field_is_refused_or_dropped(place: Namespace) -> None:
    flavor = {**FLAVOR, "spec": {"nodeLables": {"pool": "a100"}}}
    assert 'unknown field "spec.nodeLables"' in refusal(place, flavor, "--validate=strict")
    words = ("create", "--dry-run=server", "--output=json", "--filename=-", "--validate=ignore")
    assert "nodeLables" not in json.loads(place.cluster.kubectl(*words, given=yaml.safe_dump(flavor)))["spec"]


def test_a_validation_rule_of_a_kind_is_kept(place: Namespace) -> None:
    queue = surroundings(place.name)[1]
    queue["metadata"]["name"] += "-borrowing"
    assert refusal(place, queue) == ""
    queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["borrowingLimit"] = "1"
    assert "borrowingLimit must be nil when cohort is empty" in refusal(place, queue)


def test_the_api_server_takes_the_namespace_from_what_has_none(place: Namespace) -> None:
    stamped = {**FLAVOR, "metadata": {**FLAVOR["metadata"], "namespace": place.name}}
    words = ("create", "--dry-run=server", "--output=json", "--filename=-")
    assert "namespace" not in json.loads(place.cluster.kubectl(*words, given=yaml.safe_dump(stamped)))["metadata"]


def test_nothing_is_made_in_a_namespace_that_does_not_exist(place: Namespace) -> None:
    nowhere = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": f"{place.name}-nowhere"}}
    assert f'namespaces "{place.name}-nowhere" not found' in refusal(place, nowhere)
