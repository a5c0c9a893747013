"""What the tests in the lab do with it: look, wait, and make small runs that need no TensorFlow."""

from __future__ import annotations

import functools
import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import yaml
from kubernetes import config

from gate import render
from lab import model, system

Manifest = dict[str, Any]
TFRUN = model.ROOT / "training" / "tfrun.py"
JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"


class Refused(Exception):
    """Status, reason and message of an answer of the API server."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """The running lab."""

    lab: model.Lab

    def kubectl(self, *words: str | Path, given: str | None = None) -> str:
        """The standard output of kubectl. Raises CalledProcessError, whose `stderr` says why."""
        command = system.command(self.lab, *(str(word) for word in words))
        return subprocess.run(command, input=given, capture_output=True, text=True, check=True, timeout=180).stdout

    def get(self, *words: str) -> Manifest:
        """What `kubectl get` gives; asked directly where that is easy, since tests that wait ask often."""
        found: Manifest | None = _reader(self.lab.kubeconfig, self.lab.kubeconfig.stat().st_mtime_ns).get(*words)
        return json.loads(self.kubectl("get", *words, "--output=json")) if found is None else found

    def dry_run(self, text: str, like: Manifest) -> Manifest:
        """What the API server would make of the YAML of an object, whose kind and namespace `like` has. Raises Refused."""
        return _reader(self.lab.kubeconfig, self.lab.kubeconfig.stat().st_mtime_ns).dry_run(text, like)

    def refusal(self, text: str, like: Manifest) -> str:
        """Nothing, or what the API server or a webhook says against making it."""
        try:
            self.dry_run(text, like)
        except Refused as error:
            return str(error)
        return ""

    def apply(self, *objects: Manifest, words: tuple[str, ...] = ()) -> None:
        self.kubectl("apply", "--server-side", "--filename=-", *words, given=yaml.dump_all(objects, Dumper=yaml.CSafeDumper))

    def wait(self, what: str, reached: Callable[[], bool], seconds: float = 180) -> None:
        """Returns when `reached` is true; the deadline is for what will never come, not a measure of speed."""
        deadline = time.monotonic() + seconds
        while not reached():
            assert time.monotonic() < deadline, f"{what}: not reached in {seconds:.0f} s"
            time.sleep(0.5)


class _Reader:
    """Reads from the API server over one connection: a kubectl for each question costs more than the answer."""

    _DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    _OPTIONS: ClassVar = {"--selector": "labelSelector", "--field-selector": "fieldSelector"}

    def __init__(self, kubeconfig: Path) -> None:
        self._client = config.new_client_from_config(config_file=str(kubeconfig))
        self._paths: dict[str, tuple[str, bool]] = {}
        self._kinds: dict[tuple[str, str], tuple[str, bool]] = {}

    def get(self, *words: str) -> Manifest | None:
        """The object or the list that the words of a `kubectl get` name; None for words that are left to kubectl."""
        names = [word for word in words if not word.startswith("-")]
        options = dict(word.partition("=")[::2] for word in words if word.startswith("-"))
        namespace = options.pop("--namespace", None)
        everywhere = options.pop("--all-namespaces", None) is not None
        fields = {self._OPTIONS[key]: options.pop(key) for key in [*options] if key in self._OPTIONS}
        if options or not 1 <= len(names) <= 2 or not (resource := self._resource(names[0])):
            return None
        path, namespaced = resource
        if namespaced and not everywhere:
            base, _, plural = path.rpartition("/")
            path = f"{base}/namespaces/{namespace or 'default'}/{plural}"
        found = self._json("/".join([path, *names[1:]]), fields, words)
        for item in found.get("items", []):
            item.setdefault("kind", found["kind"].removesuffix("List"))
            item.setdefault("apiVersion", found["apiVersion"])
        return found

    def dry_run(self, text: str, like: Manifest) -> Manifest:
        try:
            plural, namespaced = self._kind(like["apiVersion"], like["kind"])
        except KeyError:
            raise Refused(f"no kind {like['kind']} in {like['apiVersion']} is served") from None
        base = f"/apis/{like['apiVersion']}" if "/" in like["apiVersion"] else f"/api/{like['apiVersion']}"
        metadata = like["metadata"] if isinstance(like.get("metadata"), dict) else {}
        where = f"/namespaces/{metadata.get('namespace') or 'default'}" if namespaced else ""
        answer = self._client.rest_client.pool_manager.request(
            "POST",
            f"{self._client.configuration.host}{base}{where}/{plural}?dryRun=All&fieldValidation=Strict",
            body=text.encode(),
            headers={"Content-Type": "application/yaml", "Accept": "application/json"},
            timeout=60,
        )
        found: Manifest = json.loads(answer.data)
        if answer.status != 201:
            raise Refused(f"{answer.status} {found.get('reason')}: {found.get('message')}")
        return found

    def _kind(self, api_version: str, kind: str) -> tuple[str, bool]:
        """The plural of a kind, and whether it is in a namespace."""
        if not self._kinds:
            for base in ("/api", "/apis"):
                for group in self._json(base, {}, (), self._DISCOVERY)["items"]:
                    for version in group["versions"]:
                        name = "/".join(filter(None, [group["metadata"].get("name"), version["version"]]))
                        for each in version.get("resources", []):
                            self._kinds[(name, each["responseKind"]["kind"])] = (each["resource"], each["scope"] == "Namespaced")
        return self._kinds[(api_version, kind)]

    def _resource(self, name: str) -> tuple[str, bool] | None:
        if name not in self._paths:  # a kind may have come since
            for base in ("/api", "/apis"):
                for group in self._json(base, {}, (), self._DISCOVERY)["items"]:
                    self._learn(base, group)
        return self._paths.get(name)

    def _learn(self, base: str, group: Manifest) -> None:
        for version in reversed(group["versions"]):  # the preferred one is the first, and wins
            own = group["metadata"].get("name")
            at = "/".join([base, *([own] if own else []), version["version"]])
            for each in version.get("resources", []):  # none of a group whose server is away
                where = (f"{at}/{each['resource']}", each["scope"] == "Namespaced")
                for name in (each["resource"], each["singularResource"]):
                    taken = self._paths.get(name)
                    if not own or not taken or taken[0].startswith(f"{base}/{own}/"):  # as kubectl: core kinds first
                        self._paths[name] = where
                    if own:
                        self._paths[f"{name}.{own}"] = where

    def _json(self, path: str, fields: dict[str, str], words: tuple[str, ...], accept: str = "application/json") -> Manifest:
        rest, host = self._client.rest_client.pool_manager, self._client.configuration.host
        answer = rest.request("GET", host + path, fields=fields, headers={"Accept": accept}, timeout=60)
        if answer.status != 200:
            raise subprocess.CalledProcessError(1, ["kubectl", "get", *words], stderr=answer.data.decode())
        found: Manifest = json.loads(answer.data)
        return found


@functools.lru_cache(maxsize=4)
def _reader(kubeconfig: Path, changed: int) -> _Reader:
    return _Reader(kubeconfig)


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
        found = self._conditions("trainjob", run)
        return next((each for each in ("Complete", "Failed") if each in found), "")

    def condition(self, kind: str, name: str, condition: str) -> Manifest | None:
        """A condition of an object, if it is true."""
        return self._conditions(kind, name).get(condition)

    def _conditions(self, kind: str, name: str) -> dict[str, Manifest]:
        """Those of an object that are true, by type."""
        found: list[Manifest] = self.get(kind, name).get("status", {}).get("conditions", [])
        return {each["type"]: each for each in found if each["status"] == "True"}

    def jobset(self, run: str) -> Manifest:
        return self.get("jobset", run)

    def workloads(self, run: str) -> list[Manifest]:
        """What Kueue has made of a run."""
        return [each for each in self.items("workloads") if each["metadata"]["ownerReferences"][0]["name"] == run]

    def logs(self, run: str, index: int = 0) -> str:
        """What the worker of a completion index wrote, in its newest pod."""
        pods = [pod for pod in self.pods(run) if pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] == str(index)]
        if not pods:
            return ""
        try:
            return self.kubectl("logs", pods[-1]["metadata"]["name"], "--all-containers", "--tail=-1")
        except subprocess.CalledProcessError as error:
            if "is waiting to start" in error.stderr:
                return ""
            raise

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


def deployed(folder: str) -> list[Manifest]:
    """What a folder of clusters/ holds, to change."""
    found: list[Manifest] = json.loads(json.dumps(render.build(model.ROOT / "clusters" / folder)))
    return found


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
