"""What is deployed into the cluster: the projects' own manifests from their modules, then the lab's folders."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from gate import process, tools
from gate.model import GateError
from lab.binaries import binary, modules
from lab.model import HERE, Lab, LabError, documents
from lab.wait import until

FOLDERS = ("namespaces", "queues", "storage", "runtimes")
_IMPATIENT = ("failed calling webhook", "no matches for kind", "connection refused", "etcdserver", "not yet", "ensure CRDs are installed")


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """One project's manifests: paths in its module, or an overlay of its own less what that fetches."""

    name: str
    resources: tuple[str, ...] = ()
    overlay: str = ""
    without: tuple[str, ...] = ()


PROJECTS = (  # Trainer last: it looks for Volcano's kinds when it starts
    Project(name="jobset", resources=("config/default",)),
    Project(name="kueue", resources=("config/default",)),
    Project(name="volcano", resources=("installer/volcano-development.yaml",)),
    Project(name="argocd", resources=("manifests/core-install.yaml",)),
    Project(name="trainer", overlay="manifests/overlays/manager", without=("../../third-party/jobset",)),
)


def render(lab: Lab, project: Project) -> list[dict[str, Any]]:
    """A project's objects: upstream's manifests unchanged, then the lab's components for it."""
    folder = lab.state / "system" / project.name
    folder.mkdir(parents=True, exist_ok=True)
    sources = modules()[project.name].sources()
    kustomization: dict[str, Any] = {"resources": [str(sources / path) for path in project.resources]}
    if project.overlay:
        overlay = sources / project.overlay
        kustomization = yaml.safe_load((overlay / "kustomization.yaml").read_text(encoding="utf-8"))
        kept = [each for each in kustomization["resources"] if each not in project.without]
        kustomization["resources"] = [str((overlay / each).resolve()) for each in kept]
    kustomization["resources"] = [_relative(Path(each), folder) for each in kustomization["resources"]]
    components = [HERE / "system" / name for name in ("local-images", project.name)]
    kustomization["components"] = [_relative(path, folder) for path in components if path.is_dir()]
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(kustomization), encoding="utf-8")
    return list(documents(_build(folder, "--load-restrictor", "LoadRestrictionsNone")))


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


def apply(lab: Lab, console: Console, what: str, objects: Sequence[dict[str, Any]], log: str) -> None:
    """Server-side apply, again while a webhook or a kind is not there yet; nothing where the same was applied before."""
    text = yaml.safe_dump_all(objects)
    mark = lab.state / "kubernetes" / f"applied-{what}"  # goes with the cluster
    digest = hashlib.sha256(text.encode()).hexdigest()
    if mark.exists() and mark.read_text(encoding="utf-8") == digest:
        return

    def reason() -> str:
        words = ["apply", "--server-side", "--force-conflicts", "--field-manager=lab", "--filename=-"]
        done = subprocess.run(command(lab, *words), input=text, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode and not any(each in done.stderr for each in _IMPATIENT):
            raise LabError(f"{what} cannot be applied: {done.stderr.strip()}")
        return done.stderr.strip() if done.returncode else ""

    until(console, f"{what} applied", reason, seconds=180, log=log)
    mark.write_text(digest, encoding="utf-8")


def available(lab: Lab, console: Console, project: Project, objects: Sequence[dict[str, Any]]) -> None:
    """Waits until every Deployment and StatefulSet of a project is available in its newest form."""
    for each in workloads(objects):
        name, namespace = each["metadata"]["name"], each["metadata"]["namespace"]
        log = f"`lab logs {project.name}` and `lab kubectl -n {namespace} describe pods`"
        until(console, name, _unavailable(lab, each["kind"], namespace, name), seconds=300, log=log)


def workloads(objects: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The Deployments and StatefulSets among these objects: what runs for ever."""
    return [each for each in objects if each["kind"] in ("Deployment", "StatefulSet")]


def kubectl(lab: Lab, *words: str, timeout: float = 60) -> str:
    return process.run(command(lab, *words), timeout=timeout)


def command(lab: Lab, *words: str) -> list[str]:
    return [str(binary("kubectl")), f"--kubeconfig={lab.kubeconfig}", *words]


def _unavailable(lab: Lab, kind: str, namespace: str, name: str) -> Callable[[], str]:
    def reason() -> str:
        try:
            found = json.loads(kubectl(lab, "get", kind, name, f"--namespace={namespace}", "--output=json"))
        except GateError as error:
            return str(error)
        status = found.get("status", {})
        if status.get("observedGeneration", 0) < found["metadata"]["generation"]:
            return "the controller manager has not seen it yet"
        wanted, ready = found["spec"]["replicas"], status.get("availableReplicas", 0)
        return "" if ready >= wanted and status.get("updatedReplicas", 0) >= wanted else f"{ready} of {wanted} pods are available"

    return reason


def _build(folder: Path, *options: str) -> str:
    return process.run([tools.binary("kustomize"), "build", *options, folder], timeout=120)


def _relative(path: Path, folder: Path) -> str:
    """kustomize takes no absolute path to a folder."""
    return os.path.relpath(path.resolve(), folder.resolve())
