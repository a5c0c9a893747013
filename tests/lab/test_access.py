"""What the role of an ML engineer lets somebody do, asked of the API server; nothing is created with it."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator

import pytest

from tests.admission import shared
from tests.conftest import ROOT
from tests.lab.live import Cluster, Namespace

READ = {"get", "list", "watch"}
pytestmark = pytest.mark.lab


@pytest.fixture
def engineers(namespace: Namespace) -> Iterator[Namespace]:
    """A namespace with the lab's roles under other names, given to a group of the namespace's name that nobody is in."""
    made = []
    for manifest in copy.deepcopy(shared.build(ROOT / "clusters" / "lab" / "access")):
        named = {"name": f"{namespace.name}-{manifest['metadata']['name']}", "labels": {"training.gitops/test": namespace.name}}
        manifest["metadata"] |= {**named, **({"namespace": namespace.name} if "namespace" in manifest["metadata"] else {})}
        if "roleRef" in manifest:
            manifest["roleRef"]["name"] = f"{namespace.name}-{manifest['roleRef']['name']}"
            manifest["subjects"][0]["name"] = namespace.name
        made.append(manifest)
    namespace.cluster.apply(*made)
    yield namespace
    namespace.cluster.kubectl("delete", "clusterroles,clusterrolebindings", f"--selector=training.gitops/test={namespace.name}")


def allowed(cluster: Cluster, group: str, namespace: str) -> dict[str, set[str]]:
    """The verbs that a group has on each resource, without the reviews of one's own rights that everybody may ask for."""
    words = ["auth", "can-i", "--list", "--no-headers", f"--namespace={namespace}", "--as=somebody", f"--as-group={group}"]
    verbs: dict[str, set[str]] = {}
    for line in cluster.kubectl(*words).splitlines():
        found = re.match(r"(\S+)\s+.*\[([a-z *]*)\]$", line)
        if found and not found[1].startswith(("self", "[")):
            verbs.setdefault(found[1], set()).update(found[2].split())
    return verbs


def test_engineers_create_and_watch_runs_and_nothing_else(engineers: Namespace) -> None:
    cluster, name = engineers.cluster, engineers.name
    engineers.wait("the roles hold", lambda: {"pods", "nodes"} <= set(allowed(cluster, name, name)))
    verbs = allowed(cluster, name, name)
    assert {resource for resource, verb in verbs.items() if verb - READ} == {"trainjobs.trainer.kubeflow.org", "configmaps"}
    assert verbs["trainjobs.trainer.kubeflow.org"] == verbs["configmaps"] == {"create", *READ}
    seen = {"pods", "pods/log", "events", "jobs.batch", "jobsets.jobset.x-k8s.io", "workloads.kueue.x-k8s.io"}
    assert {*seen, "podgroups.scheduling.volcano.sh", "clustertrainingruntimes.trainer.kubeflow.org"} <= set(verbs)
    assert "secrets" not in verbs
    elsewhere = allowed(cluster, name, "default")
    assert set().union(*elsewhere.values()) == READ
    assert "pods" not in elsewhere and "trainjobs.trainer.kubeflow.org" not in elsewhere
