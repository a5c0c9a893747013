"""What the role of an ML engineer lets somebody do, asked of the API server; nothing is created with it."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.admission import shared
from tests.conftest import ROOT
from tests.lab.conftest import Cluster

NAMESPACE = "access-test"
GROUP = "access-test-engineers"
READ = {"get", "list", "watch"}
pytestmark = pytest.mark.lab


@pytest.fixture
def namespace(cluster: Cluster, tmp_path: Path) -> Iterator[str]:
    """A namespace with the lab's roles under other names, given to a group that nobody is in."""
    mark = {"training.gitops/test": "access"}
    made = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": mark}}]
    for manifest in copy.deepcopy(shared.build(ROOT / "clusters" / "lab" / "access")):
        manifest["metadata"] |= {"name": f"{NAMESPACE}-{manifest['metadata']['name']}", "labels": mark}
        if "namespace" in manifest["metadata"]:
            manifest["metadata"]["namespace"] = NAMESPACE
        if "roleRef" in manifest:
            manifest["roleRef"]["name"] = f"{NAMESPACE}-{manifest['roleRef']['name']}"
            manifest["subjects"][0]["name"] = GROUP
        made.append(manifest)
    file = tmp_path / "access.yaml"
    file.write_text(yaml.safe_dump_all(made), encoding="utf-8")
    cluster.kubectl("apply", f"--filename={file}")
    yield NAMESPACE
    cluster.kubectl("delete", "clusterroles,clusterrolebindings,namespaces", "--selector=training.gitops/test=access")


def allowed(cluster: Cluster, namespace: str) -> dict[str, set[str]]:
    """The verbs of each resource, without the reviews of one's own rights that everybody may ask for."""
    words = ["auth", "can-i", "--list", "--no-headers", f"--namespace={namespace}", "--as=somebody", f"--as-group={GROUP}"]
    verbs: dict[str, set[str]] = {}
    for line in cluster.kubectl(*words).splitlines():
        found = re.match(r"(\S+)\s+.*\[([a-z *]*)\]$", line)
        if found and not found[1].startswith(("self", "[")):
            verbs.setdefault(found[1], set()).update(found[2].split())
    return verbs


def test_engineers_create_and_watch_runs_and_nothing_else(cluster: Cluster, namespace: str) -> None:
    cluster.wait("the roles hold", lambda: "trainjobs.trainer.kubeflow.org" in allowed(cluster, namespace), seconds=60)
    verbs = allowed(cluster, namespace)
    assert {resource for resource, verb in verbs.items() if verb - READ} == {"trainjobs.trainer.kubeflow.org", "configmaps"}
    assert verbs["trainjobs.trainer.kubeflow.org"] == verbs["configmaps"] == {"create", *READ}
    seen = {"pods", "pods/log", "events", "jobs.batch", "jobsets.jobset.x-k8s.io", "workloads.kueue.x-k8s.io"}
    assert {*seen, "podgroups.scheduling.volcano.sh", "clustertrainingruntimes.trainer.kubeflow.org"} <= set(verbs)
    assert "secrets" not in verbs


def test_elsewhere_they_see_only_what_runs_depend_on(cluster: Cluster, namespace: str) -> None:
    cluster.wait("the roles hold", lambda: "nodes" in allowed(cluster, "default"), seconds=60)
    verbs = allowed(cluster, "default")
    assert set().union(*verbs.values()) == READ
    assert "pods" not in verbs and "trainjobs.trainer.kubeflow.org" not in verbs
