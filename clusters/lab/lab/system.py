"""What is deployed into the cluster: the projects' own manifests from their modules, then the lab's folders."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from gate import process, tools
from gate.model import GateError
from lab.binaries import binary, modules
from lab.model import HERE, Cluster, LabError, documents
from lab.wait import until

MANAGER = "tf-trainer-gitops"  # the mark of what was installed from here: the field manager of server-side apply
FOLDERS = ("namespaces", "access", "admission", "queues", "storage", "runtimes")
_IMPATIENT = ("failed calling webhook", "no matches for kind", "connection refused", "etcdserver", "not yet", "ensure CRDs are installed")


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """One project's manifests: paths in its module, or an overlay of its own less what that fetches."""

    name: str
    resources: tuple[str, ...] = ()
    overlay: str = ""
    without: tuple[str, ...] = ()
    released: Mapping[str, str] = field(default_factory=dict, hash=False)  # image in the manifests → its releases


_STAGING = "us-central1-docker.pkg.dev/k8s-staging-images"  # unreleased images, which are deleted after some weeks
_VOLCANO = [f"docker.io/volcanosh/vc-{name}" for name in ("controller-manager", "scheduler", "webhook-manager")]
PROJECTS = (  # Trainer last: it looks for Volcano's kinds when it starts
    Project(name="jobset", resources=("config/default",), released={f"{_STAGING}/jobset/jobset": "registry.k8s.io/jobset/jobset"}),
    Project(name="kueue", resources=("config/default",), released={f"{_STAGING}/kueue/kueue": "registry.k8s.io/kueue/kueue"}),
    Project(name="volcano", resources=("installer/volcano-development.yaml",), released={name: name for name in _VOLCANO}),
    Project(name="argocd", resources=("manifests/core-install.yaml",)),
    Project(name="trainer", overlay="manifests/overlays/manager", without=("../../third-party/jobset",)),
)


def render(cluster: Cluster, project: Project) -> list[dict[str, Any]]:
    """A project's objects: upstream's manifests with the images of that release, then the lab's components for it."""
    folder = cluster.state / "system" / project.name
    folder.mkdir(parents=True, exist_ok=True)
    sources = modules()[project.name].sources()
    kustomization: dict[str, Any] = {"resources": [str(sources / path) for path in project.resources]}
    if project.overlay:
        overlay = sources / project.overlay
        kustomization = yaml.safe_load((overlay / "kustomization.yaml").read_text(encoding="utf-8"))
        kept = [each for each in kustomization["resources"] if each not in project.without]
        kustomization["resources"] = [str((overlay / each).resolve()) for each in kept]
    kustomization["resources"] = [_relative(Path(each), folder) for each in kustomization["resources"]]
    components = [HERE / "system" / name for name in (*(["local-images"] if cluster.own else []), project.name)]
    kustomization["components"] = [_relative(path, folder) for path in components if path.is_dir()]
    version = modules()[project.name].version
    released = [{"name": name, "newName": published, "newTag": version} for name, published in project.released.items()]
    kustomization["images"] = [*kustomization.get("images", []), *released]
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(kustomization), encoding="utf-8")
    return list(documents(_build(folder, "--load-restrictor", "LoadRestrictionsNone")))


def deploy(cluster: Cluster, console: Console, rendered: Mapping[Project, Sequence[dict[str, Any]]], folders: Sequence[str]) -> None:
    """The projects as `render` made them, then the cluster's own folders; returns when all of it works."""
    for project, objects in rendered.items():
        if project.name == "trainer":  # when it starts, the kinds that it looks for must be there
            for earlier, theirs in rendered.items():
                if earlier is not project:
                    available(cluster, console, earlier, theirs)
        apply(cluster, console, project.name, objects, _logs(cluster, project.name))
    for project, objects in rendered.items():
        available(cluster, console, project, objects)
    for name in folders:
        apply(cluster, console, name, folder(name), _logs(cluster, "kueue", "volcano", "trainer"))


def folder(name: str) -> list[dict[str, Any]]:
    """The objects of one of the cluster's own folders, as Argo CD will build them."""
    return list(documents(_build(HERE / name)))


def images(objects: Sequence[dict[str, Any]]) -> list[str]:
    """The images that these objects name, anywhere."""
    found: dict[str, None] = {}

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("image"), str) and "name" in value:
                found[value["image"]] = None
            for each in value.values():
                walk(each)
        elif isinstance(value, list):
            for each in value:
                walk(each)

    walk([each for each in objects if each["kind"] != "CustomResourceDefinition"])
    return list(found)


def apply(cluster: Cluster, console: Console, what: str, objects: Sequence[dict[str, Any]], log: str) -> None:
    """Server-side apply, again while a webhook or a kind is not there yet; nothing where the lab had the same applied before."""
    text = yaml.safe_dump_all(objects)
    mark = cluster.state / "kubernetes" / f"applied-{what}"  # goes with the lab
    digest = hashlib.sha256(text.encode()).hexdigest()
    if cluster.own and mark.exists() and mark.read_text(encoding="utf-8") == digest:
        return
    words = ["apply", "--server-side", f"--field-manager={MANAGER}", "--filename=-"]
    words += ["--force-conflicts"] if cluster.own else []

    def reason() -> str:
        done = subprocess.run(command(cluster, *words), input=text, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode and not any(each in done.stderr for each in _IMPATIENT):
            raise LabError(f"{what} cannot be applied: {done.stderr.strip()}")
        return done.stderr.strip() if done.returncode else ""

    until(console, f"{what} applied", reason, seconds=180, log=log)
    if cluster.own:
        mark.write_text(digest, encoding="utf-8")


def available(cluster: Cluster, console: Console, project: Project, objects: Sequence[dict[str, Any]]) -> None:
    """Waits until all that a project runs is available in its newest form, and every API that it serves."""
    for each in objects:
        if each["kind"] == "APIService":
            name = each["metadata"]["name"]
            until(console, name, _unserved(cluster, name), seconds=300, log=_logs(cluster, project.name))
    for each in workloads(objects):
        name, namespace = each["metadata"]["name"], each["metadata"]["namespace"]
        log = f"{_logs(cluster, project.name)} and `kubectl -n {namespace} describe pods`"
        until(console, name, _unavailable(cluster, each["kind"], namespace, name), seconds=300, log=log)


def workloads(objects: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The Deployments and StatefulSets among these objects: what runs for ever."""
    return [each for each in objects if each["kind"] in ("Deployment", "StatefulSet")]


def kubectl(cluster: Cluster, *words: str, timeout: float = 60) -> str:
    return process.run(command(cluster, *words), timeout=timeout)


def command(cluster: Cluster, *words: str) -> list[str]:
    return [str(binary("kubectl")), f"--kubeconfig={cluster.kubeconfig}", *words]


def _logs(cluster: Cluster, *components: str) -> str:
    where = "" if cluster.own else f" --kubeconfig {cluster.kubeconfig}"
    return ", ".join(f"`lab logs {component}{where}`" for component in components)


def _unavailable(cluster: Cluster, kind: str, namespace: str, name: str) -> Callable[[], str]:
    def reason() -> str:
        try:
            found = json.loads(kubectl(cluster, "get", kind, name, f"--namespace={namespace}", "--output=json"))
        except GateError as error:
            return str(error)
        status = found.get("status", {})
        if status.get("observedGeneration", 0) < found["metadata"]["generation"]:
            return "the controller manager has not seen it yet"
        wanted, ready = found["spec"]["replicas"], status.get("availableReplicas", 0)
        return "" if ready >= wanted and status.get("updatedReplicas", 0) >= wanted else f"{ready} of {wanted} pods are available"

    return reason


def _unserved(cluster: Cluster, name: str) -> Callable[[], str]:
    def reason() -> str:
        try:
            status = json.loads(kubectl(cluster, "get", "apiservice", name, "--output=json")).get("status", {})
        except GateError as error:
            return str(error)
        found = next((each for each in status.get("conditions", []) if each["type"] == "Available"), {"status": "unknown"})
        return "" if found["status"] == "True" else found.get("message", "it has not been asked yet")

    return reason


def _build(folder: Path, *options: str) -> str:
    return process.run([tools.binary("kustomize"), "build", *options, folder], timeout=120)


def _relative(path: Path, folder: Path) -> str:
    """kustomize takes no absolute path to a folder."""
    return os.path.relpath(path.resolve(), folder.resolve())
