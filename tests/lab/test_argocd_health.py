"""What Argo CD itself, asked offline, makes of our own health checks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from gate import process, tools
from lab.binaries import binary

pytestmark = pytest.mark.lab
APPLICATION, CLAIM = ("argoproj.io/v1alpha1", "Application"), ("v1", "PersistentVolumeClaim")
DONE = {"sync": {"status": "Synced"}, "health": {"status": "Healthy"}, "operationState": {"phase": "Succeeded"}}
CASES: list[tuple[tuple[str, str], dict[str, Any], str, str]] = [
    (APPLICATION, {}, "Progressing", "not compared yet"),
    (APPLICATION, DONE, "Healthy", ""),
    (APPLICATION, DONE | {"sync": {"status": "OutOfSync"}}, "Progressing", "not synced yet"),
    (APPLICATION, DONE | {"health": {"status": "Degraded", "message": "a queue"}}, "Degraded", "a queue"),
    (APPLICATION, DONE | {"operationState": {"phase": "Failed", "message": "no kind"}}, "Degraded", "no kind"),
    (APPLICATION, {"sync": {"status": "Unknown"}, "conditions": [{"type": "ComparisonError", "message": "no tag"}]}, "Degraded", "no tag"),
    (CLAIM, {"phase": "Pending"}, "Healthy", "waits for its first pod"),
    (CLAIM, {"phase": "Bound"}, "Healthy", ""),
    (CLAIM, {"phase": "Lost"}, "Degraded", "its volume is lost"),
]


@pytest.fixture(scope="module")
def settings(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ConfigMap argocd-cm, as the lab's Argo CD gets it."""
    built = process.run([tools.binary("kustomize"), "build", root / "clusters" / "lab" / "argocd" / "root"])
    found = next(each for each in yaml.safe_load_all(built) if each["kind"] == "ConfigMap")
    file = tmp_path_factory.mktemp("settings") / "argocd-cm.yaml"
    file.write_text(yaml.safe_dump(found), encoding="utf-8")
    return file


@pytest.mark.parametrize(("kind", "status", "health", "message"), CASES)
def test_health(kind: tuple[str, str], status: dict[str, Any], health: str, message: str, settings: Path, tmp_path: Path) -> None:
    file = tmp_path / "object.yaml"
    file.write_text(yaml.safe_dump({"apiVersion": kind[0], "kind": kind[1], "metadata": {"name": "x"}, "status": status}), encoding="utf-8")
    command = [binary("argocd"), "admin", "settings", "resource-overrides", "health", file, "--argocd-cm-path", settings]
    said = dict(line.split(": ", 1) for line in process.run(command).splitlines())
    assert (said["STATUS"], said["MESSAGE"]) == (health, message)
