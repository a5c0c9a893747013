"""Somebody's own cluster instead of the lab: what it is, what would be installed, and the same versions installed into it.

Nothing that exists there and was not installed from here is changed: server-side apply marks what it makes with its field
manager, and what bears another mark is a reason to refuse.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import yaml
from rich.console import Console

from gate import tools
from gate.model import GateError
from lab import binaries, system
from lab.binaries import modules
from lab.model import LabError, lab
from lab.system import MANAGER, Project

FOLDERS = ("namespaces", "queues", "runtimes")  # not storage: its volume is a folder of the lab's node
NOT_INSTALLED = ("argocd",)  # it deploys what is pushed to the lab's own remote
LEFT = (
    "left to you: the claim checkpoints (ReadWriteMany) in the namespace training, from a storage class of yours, and the data "
    "in /home/ubuntu/cifar-10-batches-py on the nodes"
)
Objects = Sequence[dict[str, Any]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Elsewhere:
    """A cluster by its kubeconfig, in its current context."""

    kubeconfig: Path
    state: Path

    @property
    def own(self) -> bool:
        return False


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What was found and what would be done."""

    lines: Sequence[str]
    projects: Mapping[Project, Objects]


def elsewhere(kubeconfig: Path) -> Elsewhere:
    mine = lab()
    if kubeconfig.resolve() == mine.kubeconfig.resolve():
        raise LabError("this is the kubeconfig of this checkout's own lab: leave --kubeconfig out")
    return Elsewhere(kubeconfig=kubeconfig.resolve(), state=mine.state / "elsewhere")


def up(cluster: Elsewhere, console: Console) -> None:
    """Installs what `plan` says and waits until it works. Raises LabError, with everything at once, where it must not."""
    found = plan(cluster, console)
    for line in found.lines:
        console.print(line, highlight=False, soft_wrap=True)
    system.deploy(cluster, console, found.projects, FOLDERS)
    console.print(LEFT, highlight=False, soft_wrap=True)


def down() -> NoReturn:
    """Refuses: the kinds cannot go without every run, queue and runtime of those kinds, whoever made them."""
    raise LabError(
        "nothing is removed from a cluster that is not the lab: deleting the kinds would delete every run and queue in it, whoever "
        f"made them. What was installed bears the field manager {MANAGER}"
    )


def plan(cluster: Elsewhere, console: Console) -> Plan:
    """Looks only. Raises LabError where the cluster cannot be reached, ruled, or holds what was not installed from here."""
    tools.setup(console)
    binaries.made("kubectl", console)
    lines, faults = _cluster(cluster)
    rendered = {project: system.render(cluster, project) for project in system.PROJECTS if project.name not in NOT_INSTALLED}
    own = [each for name in FOLDERS for each in system.folder(name)]
    marks = _marks(cluster, [each for objects in rendered.values() for each in objects] + own)
    running = _running(cluster)
    projects = dict[Project, Objects]()
    for project, objects in rendered.items():
        version = modules()[project.name].version
        there = [(place, image) for place, image in running if _short(image) in {_short(each) for each in system.images(objects)}]
        ours = [each for each in objects if MANAGER in marks.get(_key(each), ())]
        others = [each for each in objects if _foreign(each, marks)]
        if not others:
            spaces = ", ".join(each["metadata"]["name"] for each in objects if each["kind"] == "Namespace")
            lines.append(f"installs {'again ' if ours else ''}{project.name} {version} in {spaces}")
            projects[project] = objects
        elif there and not ours and all(image.endswith(f":{version}") for _, image in there):
            lines.append(f"leaves {project.name} {version} as it is: it was not installed from here")
        else:
            seen = [f"{image} in {place}" for place, image in there] or [_said(each) for each in others[:3]]
            faults.append(
                f"{project.name} is there and was not installed from here ({', '.join(seen)}); wanted is {version}: remove it first"
            )
    if taken := [_said(each) for each in own if _foreign(each, marks)]:
        faults.append(f"these are there and were not made from here: {', '.join(taken)}: rename or remove them first")
    if faults:
        raise LabError(f"nothing was changed in {lines[0]}:" + "".join(f"\n  {fault}" for fault in faults))
    lines.append(f"then {', '.join(FOLDERS)} of clusters/lab; nothing else is touched")
    return Plan(lines=lines, projects=projects)


def _cluster(cluster: Elsewhere) -> tuple[list[str], list[str]]:
    """What the cluster is, and what is wrong with it. Raises LabError where nothing more can be asked."""
    try:
        version = json.loads(system.kubectl(cluster, "version", "--output=json", "--request-timeout=20s"))["serverVersion"]["gitVersion"]
        allowed = subprocess.run(system.command(cluster, "auth", "can-i", "*", "*", "--all-namespaces"), capture_output=True, check=False)
        if allowed.returncode:
            raise LabError("this user may not do everything there: kinds, webhooks and roles need a cluster administrator")
        server = system.kubectl(cluster, "config", "view", "--minify", "--output=jsonpath={.clusters[0].cluster.server}")
        context = system.kubectl(cluster, "config", "current-context").strip()
        nodes = json.loads(system.kubectl(cluster, "get", "nodes", "--output=json"))["items"]
    except GateError as error:
        raise LabError(f"the cluster of {cluster.kubeconfig} cannot be used: {error}") from error
    ready = sum(any(each["type"] == "Ready" and each["status"] == "True" for each in node["status"]["conditions"]) for node in nodes)
    lines = [f"the cluster {server} (context {context}), Kubernetes {version}, {ready} of {len(nodes)} nodes ready"]
    pinned = modules()["kubernetes"].version
    if version.split(".")[:2] != pinned.split(".")[:2]:
        lines.append(f"these versions are tested on Kubernetes {pinned}, not on {version}")
    return lines, [] if ready else ["no node is ready: nothing that is installed could run"]


_Key = tuple[str, str, str, str]


def _key(each: dict[str, Any]) -> _Key:
    """Group, kind, namespace and name: the version may differ from the one that the server prefers."""
    metadata = each["metadata"]
    group = each["apiVersion"].rpartition("/")[0]
    return group, each["kind"], metadata.get("namespace", ""), metadata["name"]


def _said(each: dict[str, Any]) -> str:
    return f"{each['kind']} {'/'.join(name for name in _key(each)[2:] if name)}"


def _foreign(each: dict[str, Any], marks: Mapping[_Key, set[str]]) -> bool:
    """True for what exists by another hand. An object with no field but its name bears no mark at all."""
    found = marks.get(_key(each), set())
    return bool(found) and MANAGER not in found


def _marks(cluster: Elsewhere, objects: Objects) -> dict[_Key, set[str]]:
    """The field managers of those of the objects that exist."""
    kinds = [each for each in objects if each["kind"] == "CustomResourceDefinition"]
    definitions = {(each["spec"]["group"], each["spec"]["names"]["kind"]): each["metadata"]["name"] for each in kinds}
    text = r"""jsonpath={range .items[*]}{.metadata.name}{range .spec.versions[*]}{" "}{.name}{end}{"\n"}{end}"""
    listed = [row.split() for row in system.kubectl(cluster, "get", "customresourcedefinitions", f"--output={text}").splitlines()]
    served = {name: versions for name, *versions in listed}
    asked = [each for each in objects if _is_served(each, definitions, served)]
    fields = ("apiVersion", "kind", "metadata.namespace", "metadata.name", "metadata.managedFields[*].manager")
    line = r'{"\t"}'.join(f"{{.{name}}}" for name in fields)
    words = [
        "get",
        "--filename=-",
        "--ignore-not-found",
        "--show-managed-fields",
        f'--output=jsonpath={{range .items[*]}}{line}{{"\\n"}}{{end}}',
    ]
    done = subprocess.run(
        system.command(cluster, *words), input=yaml.safe_dump_all(asked), capture_output=True, text=True, timeout=120, check=False
    )
    if done.returncode:
        raise LabError(f"what is installed cannot be listed: {done.stderr.strip()}")
    rows = [row.split("\t") for row in done.stdout.splitlines()]
    return {(version.rpartition("/")[0], kind, namespace, name): set(managers.split()) for version, kind, namespace, name, managers in rows}


def _is_served(each: dict[str, Any], definitions: Mapping[tuple[str, str], str], served: Mapping[str, Sequence[str]]) -> bool:
    """True where the cluster can be asked for an object: not for a kind that is yet to come, or that another release has there."""
    group, version = each["apiVersion"].rpartition("/")[::2]
    definition = definitions.get((group, each["kind"]))
    return not definition or version in served.get(definition, ())


def _running(cluster: Elsewhere) -> list[tuple[str, str]]:
    """Place and image of every container of every Deployment."""
    found = json.loads(system.kubectl(cluster, "get", "deployments", "--all-namespaces", "--output=json", timeout=120))["items"]
    return [
        (f"{each['metadata']['namespace']}/{each['metadata']['name']}", container["image"])
        for each in found
        for container in each["spec"]["template"]["spec"]["containers"]
    ]


def _short(image: str) -> str:
    """The last part of an image's name, whatever registry it comes from."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]
