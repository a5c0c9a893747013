"""`gate why` asks the live cluster: faults that it must name, and what it needs to be allowed."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from gate.why import cluster as reader
from tests.command import gate
from tests.lab.live import Namespace, trainjob
from tests.why import faults

pytestmark = [pytest.mark.lab, pytest.mark.long]  # tests/why has what it found, recorded
ROLE = Path(reader.__file__).parent / "role.yaml"
FAULTS = {
    "running": ("training/runs", None),
    "never-fits": ("kueue/never-fits", "queue/within-quota"),
    "no-local-queue": ("kueue/local-queue-missing", "queue/local-queue-exists"),
    "too-large": ("pods/never-fits", "nodes/gang-fits"),
    "no-config-map": ("pods/volume", "refs/objects-exist"),
    "request-only": ("jobset/jobs-refused", "resources/extended-limits"),
    "volcano-no-queue": ("trainer/refused", "queue/volcano-queue-exists"),
    "alone-again": ("jobset/lone-restart", "jobset/backoff-limit-zero"),
    "worker-count": ("training/worker-count", "trainer/worker-count"),
    "failed": ("failed/crashed", None),
    "bad-value": ("failed/bad-value", None),
}


def ask(namespace: Namespace, run: str = "", kubeconfig: Path | None = None) -> tuple[int, list[dict[str, Any]]]:
    """Exit status and answers of `gate why`."""
    config = kubeconfig or namespace.cluster.lab.kubeconfig
    done = gate("why", f"{namespace.name}/{run}", "--kubeconfig", config, "--format", "json")
    return done.exit_code, json.loads(done.stdout)["trainjobs"] if done.stdout else []


def made(namespace: Namespace, *names: str) -> None:
    """Applies faults, their runtimes before them."""
    wanted = faults.faults(namespace.name)
    objects = [
        *(each for each in faults.surroundings(namespace.name) if each["kind"] == "ConfigMap"),
        faults.runtime("plain"),
        *(each for name in names for each in wanted[name]),
    ]
    for each in objects:
        if each["kind"] == "TrainJob" and each["metadata"]["labels"].get("kueue.x-k8s.io/queue-name", "nowhere") != "nowhere":
            each["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "training"
        if each["metadata"]["name"] == "never-fits":
            each["spec"]["trainer"]["resourcesPerNode"] = {"requests": {"cpu": "500m"}}
    runtimes = [each for each in objects if each["kind"] != "TrainJob"]
    namespace.apply(*runtimes)

    def applied() -> bool:  # Trainer's webhook sees a new runtime a moment later
        try:
            namespace.apply(*(each for each in objects if each["kind"] == "TrainJob"))
        except subprocess.CalledProcessError as error:
            assert "must be created before the TrainJob" in error.stderr, error.stderr
            return False
        return True

    namespace.wait("the runs are made", applied)


def test_the_faults_are_named(namespace: Namespace) -> None:
    made(namespace, *FAULTS)
    found: dict[str, tuple[str, str | None]] = {}

    def named() -> bool:
        _, answers = ask(namespace)
        found.update({each["name"]: (each["cause"], each["rule"]) for each in answers})
        return found == FAULTS

    try:
        namespace.wait("all faults are named", named, seconds=300)
    except AssertionError:
        assert found == FAULTS
    assert ask(namespace)[0] == 1
    status, (answer,) = ask(namespace, "running")
    assert (status, answer["state"], answer["unread"]) == (0, "fine", [])
    assert [each["kind"] for each in answer["objects"] if each["kind"] != "TrainingRuntime"] == [
        *("TrainJob", "Workload", "LocalQueue", "ClusterQueue", "JobSet", "Job", "Pod", "Pod"),
    ]


def test_who_holds_the_quota_is_named(namespace: Namespace) -> None:
    sleep = "import time; time.sleep(3000)"
    namespace.apply(*trainjob("first", sleep))
    namespace.wait("first runs", lambda: namespace.running("first") == 2)
    namespace.apply(*trainjob("second", sleep, gpus=2))
    namespace.wait("second waits", lambda: ask(namespace, "second")[1][0]["cause"] == "kueue/quota-held")
    status, (answer,) = ask(namespace, "second")
    assert status == 0
    flavor = "flavor lab"
    assert answer["sentence"] == (
        f"It waits in ClusterQueue {namespace.name} for 2 more of nvidia.com/gpu ({flavor}); held by {namespace.name}/first."
    )


def test_a_name_that_is_near_is_suggested(namespace: Namespace) -> None:
    made(namespace, "suspended")
    done = gate("why", f"{namespace.name}/suspend", "--kubeconfig", namespace.cluster.lab.kubeconfig)
    assert done.exit_code == 2
    said = f"there is no TrainJob suspend in namespace {namespace.name}; did you mean {namespace.name}/suspended?"
    assert done.stderr == f"gate: {said}\n"
    done = gate("why", "default/suspended", "--kubeconfig", namespace.cluster.lab.kubeconfig)
    assert f"{namespace.name}/suspended" in done.stderr


def test_the_role_is_enough_and_less_is_said(namespace: Namespace, tmp_path: Path) -> None:
    made(namespace, "too-large")
    namespace.wait("it has pods", lambda: len(namespace.pods("too-large")) == 2)
    kubeconfig = user(namespace, tmp_path)
    unknown = tmp_path / "unknown"
    unknown.write_text(re.sub(r"token: .*", "token: none", kubeconfig.read_text(encoding="utf-8")), encoding="utf-8")
    done = gate("why", "--kubeconfig", unknown)
    assert (done.exit_code, done.stderr.endswith("does not accept the credentials of the kubeconfig (401 Unauthorized)\n")) == (2, True)
    place = f"{namespace.name}/too-large"
    done = gate("why", place, "--kubeconfig", kubeconfig)
    assert (done.exit_code, done.stderr) == (2, f"gate: could not read TrainJob {place}: forbidden\n")
    role = yaml.safe_load(ROLE.read_text(encoding="utf-8"))
    role["metadata"]["name"] = f"gate-why-{namespace.name}"
    subject = {"kind": "ServiceAccount", "name": "asker", "namespace": namespace.name}
    binding: dict[str, Any] = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "metadata": {"name": role["metadata"]["name"]},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role["metadata"]["name"]},
        "subjects": [subject],
    }
    try:
        namespace.cluster.apply(role)
        namespace.apply({**binding, "kind": "RoleBinding"})
        namespace.wait("the namespace may be read", lambda: ask(namespace, "too-large", kubeconfig)[0] == 0)
        _, (answer,) = ask(namespace, "too-large", kubeconfig)
        assert answer["cause"] == "pods/no-room"  # without the nodes it cannot be known that none is large enough
        assert "could not read nodes: forbidden" in answer["unread"]
        assert "could not read workloads of other namespaces: forbidden" in answer["unread"]
        namespace.cluster.apply({**binding, "kind": "ClusterRoleBinding"})
        namespace.wait("all may be read", lambda: ask(namespace, "too-large", kubeconfig)[0] == 1)
        _, (answer,) = ask(namespace, "too-large", kubeconfig)
        assert (answer["cause"], answer["unread"]) == ("pods/never-fits", [])
    finally:
        for kind in ("clusterrolebinding", "clusterrole"):
            namespace.cluster.kubectl("delete", "--ignore-not-found", kind, role["metadata"]["name"])


def user(namespace: Namespace, folder: Path) -> Path:
    """The kubeconfig of a service account that may do nothing yet."""
    namespace.kubectl("create", "serviceaccount", "asker")
    config = yaml.safe_load(namespace.cluster.lab.kubeconfig.read_text(encoding="utf-8"))
    token = namespace.kubectl("create", "token", "asker").strip()
    config["users"] = [{"name": each["name"], "user": {"token": token}} for each in config["users"]]
    file = folder / "kubeconfig"
    file.write_text(yaml.safe_dump(config), encoding="utf-8")
    return file
