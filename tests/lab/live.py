"""What the tests in the lab do with it: look, wait, and make small runs that need no TensorFlow."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lab import model, system

Manifest = dict[str, Any]
TFRUN = model.ROOT / "training" / "tfrun.py"
JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """The running lab."""

    lab: model.Lab

    def kubectl(self, *words: str | Path, given: str | None = None) -> str:
        """The standard output of kubectl. Raises CalledProcessError, whose `stderr` says why."""
        command = system.command(self.lab, *(str(word) for word in words))
        return subprocess.run(command, input=given, capture_output=True, text=True, check=True, timeout=180).stdout

    def get(self, *words: str) -> Manifest:
        found: Manifest = json.loads(self.kubectl("get", *words, "--output=json"))
        return found

    def apply(self, *objects: Manifest, words: tuple[str, ...] = ()) -> None:
        self.kubectl("apply", "--server-side", "--filename=-", *words, given=yaml.safe_dump_all(objects))

    def wait(self, what: str, reached: Callable[[], bool], seconds: float = 180) -> None:
        """Returns when `reached` is true; the deadline is for what will never come, not a measure of speed."""
        deadline = time.monotonic() + seconds
        while not reached():
            assert time.monotonic() < deadline, f"{what}: not reached in {seconds:.0f} s"
            time.sleep(0.5)


@dataclass(frozen=True, kw_only=True, slots=True)
class Namespace:
    """A namespace of one test, with a ClusterQueue and a LocalQueue `training` and a claim `checkpoints`."""

    cluster: Cluster
    name: str

    def kubectl(self, *words: str | Path, given: str | None = None) -> str:
        return self.cluster.kubectl(f"--namespace={self.name}", *words, given=given)

    def get(self, *words: str) -> Manifest:
        return self.cluster.get(*words, f"--namespace={self.name}")

    def items(self, kind: str, *words: str) -> list[Manifest]:
        found: list[Manifest] = self.get(kind, *words)["items"]
        return found

    def apply(self, *objects: Manifest) -> None:
        self.cluster.apply(*objects, words=(f"--namespace={self.name}",))

    def pods(self, run: str) -> list[Manifest]:
        """The run's pods that are not going away, by name."""
        found = self.items("pods", f"--selector={JOBSET_NAME}={run}")
        return sorted((pod for pod in found if "deletionTimestamp" not in pod["metadata"]), key=lambda pod: str(pod["metadata"]["name"]))

    def running(self, run: str) -> int:
        return sum(pod["status"]["phase"] == "Running" for pod in self.pods(run))

    def ended(self, run: str) -> str:
        """Complete or Failed, or nothing as long as it is neither."""
        return next((each for each in ("Complete", "Failed") if self.condition("trainjob", run, each)), "")

    def condition(self, kind: str, name: str, condition: str) -> Manifest | None:
        """A condition of an object, if it is true."""
        found: list[Manifest] = self.get(kind, name).get("status", {}).get("conditions", [])
        return next((each for each in found if each["type"] == condition and each["status"] == "True"), None)

    def jobset(self, run: str) -> Manifest:
        return self.get("jobset", run)

    def logs(self, run: str, index: int = 0) -> str:
        """What the worker of a completion index wrote, in its newest pod."""
        pods = [pod for pod in self.pods(run) if pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] == str(index)]
        return self.kubectl("logs", pods[-1]["metadata"]["name"], "--all-containers", "--tail=-1") if pods else ""

    def events(self, about: str) -> list[str]:
        return [f"{each['reason']}: {each['message']}" for each in self.items("events", f"--field-selector=involvedObject.name={about}")]

    def wait(self, what: str, reached: Callable[[], bool], seconds: float = 180) -> None:
        self.cluster.wait(what, reached, seconds)

    def complete(self, run: str, seconds: float = 300) -> None:
        """Waits until the run is Complete; a Failed one fails the test with its log."""
        self.wait(f"{run} ended", lambda: bool(self.ended(run)), seconds)
        assert self.ended(run) == "Complete", self.logs(run)


def trainjob(
    name: str,
    script: str,
    *,
    workers: int = 2,
    runtime: str = "tensorflow-distributed",
    queue: str | None = "training",
    gpus: int = 1,
    env: dict[str, str] | None = None,
    pod: Manifest | None = None,
    labels: dict[str, str] | None = None,
) -> list[Manifest]:
    """A run of `script` (Python, without TensorFlow) under tfrun: its ConfigMap and its TrainJob, small enough to share the node.

    `queue` is the LocalQueue: None for runtimes of Volcano. `pod` is merged into the pod spec's runtimePatch.
    """
    requests = {"cpu": "20m", "memory": "128Mi", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
    variables = {"TF_NUM_WORKERS": str(workers), **(env or {})}
    patch: Manifest = {
        "containers": [{"name": "node", "volumeMounts": [{"name": "code", "mountPath": "/workspace/code", "readOnly": True}]}],
        "volumes": [
            {"name": "code", "configMap": {"name": name}},
            {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}},
        ],
        **(pod or {}),
    }
    job = {"name": "node", "template": {"spec": {"template": {"spec": patch}}}}
    spec = {
        "runtimeRef": {"name": runtime},
        "trainer": {
            "numNodes": workers,
            "command": ["python3", "/workspace/code/tfrun.py", "--", "python3", "-u", "/workspace/code/main.py"],
            "env": [{"name": key, "value": value} for key, value in variables.items()],
            "resourcesPerNode": {"requests": requests, "limits": requests},
        },
        "runtimePatches": [
            {"manager": "training.gitops/run", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [job]}}}},
        ],
    }
    wanted = {**({"kueue.x-k8s.io/queue-name": queue} if queue else {}), **(labels or {})}
    code = {"tfrun.py": TFRUN.read_text(encoding="utf-8"), "main.py": script}
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": code},
        {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": name, "labels": wanted}, "spec": spec},
    ]


def surroundings(name: str) -> list[Manifest]:
    """The objects that make a Namespace: half of the lab's devices for its ClusterQueue, as in the cluster's own."""
    quota = {"cpu": "800m", "memory": "9Gi", "nvidia.com/gpu": "4", "nvidia.com/hostdev": "4"}
    kueue = "kueue.x-k8s.io/v1beta2"
    resources = [{"name": resource, "nominalQuota": amount} for resource, amount in quota.items()]
    group = {"coveredResources": list(quota), "flavors": [{"name": "lab", "resources": resources}]}
    selector = {"matchLabels": {"kubernetes.io/metadata.name": name}}
    terms = [{"matchExpressions": [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}]}]
    claim = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
        {
            "apiVersion": kueue,
            "kind": "ClusterQueue",
            "metadata": {"name": name},
            "spec": {"namespaceSelector": selector, "resourceGroups": [group]},
        },
        {
            "apiVersion": kueue,
            "kind": "LocalQueue",
            "metadata": {"name": "training", "namespace": name},
            "spec": {"clusterQueue": name},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {
                "accessModes": ["ReadWriteMany"],
                "capacity": {"storage": "1Gi"},
                "storageClassName": "",
                "persistentVolumeReclaimPolicy": "Retain",
                "claimRef": {"namespace": name, "name": "checkpoints"},
                "local": {"path": "/home/ubuntu/checkpoints"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "checkpoints", "namespace": name},
            "spec": {**claim, "volumeName": name, "resources": {"requests": {"storage": "1Gi"}}},
        },
    ]
