"""The lab's Git remote and its Argo CD: what is pushed is what runs."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rich.console import Console

from gate import process
from gate.model import GateError
from lab import system
from lab.model import HERE, ROOT, Lab, LabError, facts
from lab.wait import until

NAMESPACE = "argocd"


def remote(lab: Lab) -> Path:
    """The bare repository that the lab's git daemon serves, read-only, under the address in cluster.yaml."""
    address: str = facts()["argocd"]["repository"]
    return lab.state / "git" / urlsplit(address).path.lstrip("/")


def push(lab: Lab, source: Path) -> str:
    """Makes the current commit of a checkout the one that Argo CD deploys, whatever was there before; the commit's name."""
    target = remote(lab)
    if not target.exists():
        _git(lab.state, "init", "--quiet", "--bare", f"--initial-branch={facts()['argocd']['revision']}", str(target))
        _git(target, "config", "receive.shallowUpdate", "true")  # a CI job's checkout has no history
    try:
        commit = _git(source, "rev-parse", "--verify", "HEAD").strip()
    except GateError as error:
        raise LabError(f"{source} has no commit to push: git init, git add, git commit: {error}") from error
    _git(source, "push", "--quiet", "--force", str(target), f"HEAD:refs/heads/{facts()['argocd']['revision']}")
    return commit


def uncommitted(source: Path) -> Sequence[str]:
    """The changed files of a checkout, which no push takes along."""
    return [line[3:] for line in _git(source, "status", "--porcelain").splitlines()]


def refresh(lab: Lab) -> None:
    """Has Argo CD look at the remote now rather than after its few minutes, as a Git server's webhook does."""
    for kinds, mark in {"applicationsets": "application-set-refresh=true", "applications": "refresh=normal"}.items():
        words = ["annotate", f"{kinds}.argoproj.io", "--all", f"--namespace={NAMESPACE}", "--overwrite", f"argocd.argoproj.io/{mark}"]
        try:
            system.kubectl(lab, *words)
        except GateError as error:
            if "NotFound" not in str(error):  # one that goes meanwhile needs no look
                raise


def prepare(lab: Lab) -> None:
    """The one secret that Argo CD's server would have made: the lab has no server, and without the key no cluster is read."""
    found = json.loads(system.kubectl(lab, "get", "secret", "argocd-secret", f"--namespace={NAMESPACE}", "--output=json"))
    if "server.secretkey" not in found.get("data", {}):
        data = {"server.secretkey": base64.b64encode(secrets.token_bytes(32)).decode()}
        system.kubectl(lab, "patch", "secret", "argocd-secret", f"--namespace={NAMESPACE}", f"--patch={json.dumps({'data': data})}")


def deploy(lab: Lab, console: Console, source: Path) -> None:
    """Pushes a checkout and has Argo CD deploy the cluster; returns once its folders are deployed and its runs known."""
    commit = push(lab, source)
    console.print(f"pushed {commit[:12]}", highlight=False)
    root = source / HERE.relative_to(ROOT) / "argocd" / "root"
    system.kubectl(lab, "apply", "--server-side", "--force-conflicts", "--field-manager=root", f"--kustomize={root}")
    refresh(lab)
    until(console, "what is in Git", lambda: not_deployed(lab, synced=False), seconds=600, log="`lab logs argocd` and `lab watch`")
    if failed := [f"{name}: {state(each)[2]}" for name, each in applications(lab).items() if has_failed(each) and not _is_run(each)]:
        raise LabError(f"Argo CD could not deploy {'; '.join(failed)}")


def applications(lab: Lab) -> dict[str, dict[str, Any]]:
    """Argo CD's Applications by name."""
    listed = json.loads(system.kubectl(lab, "get", "applications.argoproj.io", f"--namespace={NAMESPACE}", "--output=json"))
    return {each["metadata"]["name"]: each for each in listed["items"]}


def state(application: Mapping[str, Any]) -> tuple[str, str, str]:
    """Sync status, health status, and what went wrong last, if anything."""
    status = application.get("status", {})
    said = [each["message"] for each in status.get("conditions", [])]
    operation = status.get("operationState", {})
    if operation.get("phase") in ("Failed", "Error", "Running") and operation.get("message"):
        said.append(operation["message"])
        failed = [each for each in operation.get("syncResult", {}).get("resources", []) if each.get("status") == "SyncFailed"]
        said += [f"{each['kind']} {each['name']}: {each['message']}" for each in failed if each.get("message")]
    return status.get("sync", {}).get("status", ""), status.get("health", {}).get("status", ""), "; ".join(said)


def has_failed(application: Mapping[str, Any]) -> bool:
    """Whether Argo CD has given up syncing the commit that it has seen last; with the next one it tries again."""
    status = application.get("status", {})
    operation, seen = status.get("operationState", {}), status.get("sync", {}).get("revision")
    return operation.get("phase") in ("Failed", "Error") and operation.get("syncResult", {}).get("revision") == seen


def not_deployed(lab: Lab, *, synced: bool = True) -> str:
    """What of the pushed commit Argo CD has yet to deploy; without `synced` it is enough that it knows each run."""
    name, revision = facts()["name"], facts()["argocd"]["revision"]
    try:
        commit = _git(remote(lab), "rev-parse", revision).strip()
        runs = _git(remote(lab), "ls-tree", "-d", "--name-only", commit, f"clusters/{name}/runs/").split()
        found = applications(lab)
    except GateError as error:
        return str(error)
    left = [f"{each} is not there" for each in (name, *(f"{name}-run-{Path(run).name}" for run in runs)) if each not in found]
    for each, application in found.items():
        if (is_run := _is_run(application)) and not synced:
            continue
        sync, health, said = state(application)
        if application.get("status", {}).get("sync", {}).get("revision") != commit:
            left.append(f"{each} is not compared with {commit[:12]} yet {said}".strip())
        elif not has_failed(application) and (sync != "Synced" or (health not in ("Healthy", "Suspended") and not is_run)):
            left.append(f"{each} is {sync or 'new'} {health} {said}".strip())
    return ", ".join(left)


def _is_run(application: Mapping[str, Any]) -> bool:
    project: str = application["spec"]["project"]
    return project.endswith("-training")


def _git(folder: Path, *words: str) -> str:
    return process.run(["git", "-c", "safe.directory=*", "-C", folder, *words], timeout=120)
