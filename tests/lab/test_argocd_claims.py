"""What rules say of Argo CD, in applications of a small repository of their own: nothing else in the lab is deployed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from gate.evaluate import Evaluator
from lab import gitops, model
from tests.conftest import ROOT
from tests.lab.conftest import Cluster, own
from tests.lab.live import Manifest, Namespace, trainjob
from tests.lab.test_gate_and_cluster import findings

pytestmark = pytest.mark.lab
SERVER_SIDE = {"automated": {}, "syncOptions": ["ServerSideApply=true"]}
FAULTS: dict[str, tuple[dict[str, str], str]] = {  # what of an application is otherwise, and what Argo CD says
    "no-project": ({"project": "nowhere"}, "Application referencing project nowhere which does not exist"),
    "no-place": ({"namespace": "nowhere"}, "and namespace 'nowhere' do not match any of the allowed destinations"),
    "no-path": ({"path": "nowhere"}, "nowhere: app path does not exist"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A namespace, a repository that Argo CD can read, and a project for the two; all of the namespace's name."""

    namespace: Namespace
    repository: str
    made: list[Manifest]

    def deploy(self, name: str, *, path: str, policy: Manifest | None = None, more: Manifest | None = None, **fault: str) -> None:
        """An application of a folder, with something wrong."""
        found = {"project": self.namespace.name, "namespace": self.namespace.name, "path": path, **fault}
        spec = {
            "project": found["project"],
            "source": {"repoURL": self.repository, "targetRevision": "main", "path": found["path"]},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": found["namespace"]},
            **({"syncPolicy": policy} if policy else {}),
            **(more or {}),
        }
        self.apply("Application", f"{self.namespace.name}-{name}", spec)

    def apply(self, kind: str, name: str, spec: Manifest) -> None:
        metadata = {"name": name, "namespace": gitops.NAMESPACE}
        self.made.append({"apiVersion": "argoproj.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec})
        self.namespace.cluster.apply(self.made[-1])

    def status(self, name: str) -> Manifest:
        words = ("applications.argoproj.io", f"{self.namespace.name}-{name}", f"--namespace={gitops.NAMESPACE}")
        found: Manifest = self.namespace.cluster.get(*words).get("status", {})
        return found

    def wait_said(self, name: str, words: str) -> None:
        self.namespace.wait(f"{name}: {words}", lambda: words in str(self.status(name).get("conditions")))

    def wait_sync(self, name: str, state: str) -> None:
        self.namespace.wait(f"{name} {state}", lambda: self.status(name).get("sync", {}).get("status") == state)


@pytest.fixture(scope="module")
def place(cluster: Cluster, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("repository")
    write(folder / "nothing" / "README.md", "no manifest\n")
    for name in ("ignored", "server-side", "client-side"):
        code, job = trainjob(name, "")
        write(folder / name / "run.yaml", yaml.safe_dump_all([code, job]))
    for name in ("forced", "as-option"):
        metadata = {"name": name, **({"annotations": {"argocd.argoproj.io/sync-options": "Force=true"}} if name == "forced" else {})}
        write(folder / name / "map.yaml", yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}))
    write(folder / "shared" / "map.yaml", yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared"}}))
    for cluster_name in ("old", "new"):  # the folders of two clusters
        made_there = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"of-{cluster_name}"}}
        write(folder / "clusters" / cluster_name / "queues" / "map.yaml", yaml.safe_dump(made_there))
    with own(cluster, request) as namespace:
        served = cluster.lab.state / "git" / f"{namespace.name}.git"
        shutil.rmtree(served, ignore_errors=True)
        commit(folder, served)
        made = Place(namespace=namespace, repository=f"git://{model.GATEWAY}/{served.name}", made=[])
        try:
            spec = {"sourceRepos": [made.repository], "destinations": [{"server": "*", "namespace": namespace.name}]}
            made.apply("AppProject", namespace.name, spec)
            yield made
        finally:
            cluster.kubectl("delete", "--ignore-not-found", "--filename=-", given=yaml.safe_dump_all(made.made[::-1]))
            shutil.rmtree(served)


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")


def commit(folder: Path, bare: Path) -> None:
    git = ["git", "-c", "user.name=lab", "-c", "user.email=lab@example.com", "-C", str(folder)]
    for words in (["init", "--quiet", "--initial-branch=main"], ["add", "--all"], ["commit", "--quiet", "--message=all"]):
        subprocess.run([*git, *words], check=True)
    for words in (
        ["switch", "--quiet", "--create=other"],
        ["rm", "--quiet", "-r", "clusters/new"],
        ["commit", "--quiet", "--message=less"],
    ):
        subprocess.run([*git, *words], check=True)
    subprocess.run([*git, "switch", "--quiet", "main"], check=True)
    subprocess.run([*git, "clone", "--quiet", "--bare", ".", str(bare)], check=True)


@pytest.mark.parametrize("name", FAULTS)
def test_an_application_that_leads_nowhere_says_why(name: str, place: Place) -> None:
    fault, said = FAULTS[name]
    place.deploy(name, **{"path": "nothing", **fault})
    place.wait_said(name, said)


def test_an_application_of_a_folder_without_manifests_is_synced_and_deploys_nothing(place: Place) -> None:
    place.deploy("nothing", path="nothing")
    place.wait_sync("nothing", "Synced")
    assert not place.status("nothing").get("resources")


def test_an_object_of_two_applications_is_shared_and_goes_where_they_say(place: Place) -> None:
    for name in ("one", "two"):
        place.deploy(name, path="shared", policy=SERVER_SIDE)
        place.namespace.wait("it is made", lambda: place.namespace.items("configmaps", "--field-selector=metadata.name=shared") != [])
    place.namespace.wait(
        "one of the two complains",
        lambda: any("SharedResourceWarning" in str(place.status(name).get("conditions")) for name in ("one", "two")),
    )


def test_what_is_forced_is_not_applied_server_side(place: Place) -> None:
    """Force is read from the object's annotation; as an option of the application it is not read, else this would fail too."""
    once = {"automated": {}, "retry": {"limit": 0}, "syncOptions": ["ServerSideApply=true"]}
    place.deploy("forced", path="forced", policy=once)
    place.deploy("as-option", path="as-option", policy={**once, "syncOptions": ["ServerSideApply=true", "Force=true"]})
    place.namespace.wait("it is refused", lambda: "--force cannot be used with --server-side" in str(place.status("forced")))
    place.wait_sync("as-option", "Synced")
    assert [
        each["metadata"]["name"] for each in place.namespace.items("configmaps") if each["metadata"]["name"] in ("forced", "as-option")
    ] == ["as-option"]


def test_what_kueue_writes_is_a_difference_where_argo_cd_applies_client_side(place: Place) -> None:
    """Beside an application that ignores it as the repository's do, and one that applies server-side and has nothing of it in Git."""
    (generator,) = yaml.safe_load_all((ROOT / "base/argocd/cluster/runs.yaml").read_text(encoding="utf-8"))
    spec: dict[str, Any] = generator["spec"]["template"]["spec"]
    policy = {"automated": {}, "syncOptions": spec["syncPolicy"]["syncOptions"]}
    place.deploy("ignored", path="ignored", policy=policy, more={"ignoreDifferences": spec["ignoreDifferences"]})
    place.deploy("server-side", path="server-side", policy=SERVER_SIDE)
    place.deploy("client-side", path="client-side", policy={"automated": {}})
    for name in ("ignored", "server-side", "client-side"):
        place.namespace.wait(f"{name} there", lambda name=name: place.status(name).get("operationState", {}).get("phase") == "Succeeded")
        place.namespace.complete(name)
    place.wait_sync("client-side", "OutOfSync")
    place.wait_sync("server-side", "Synced")
    place.wait_sync("ignored", "Synced")


COPIED: dict[str, dict[str, Any]] = {  # what an application of the cluster `new` says otherwise than its cluster.yaml
    "path": {"source": {"path": "clusters/old/queues"}},
    "destination": {"destination": {"name": "old"}},
    "revision": {"source": {"targetRevision": "other"}},
}


def copied(name: str, place: Place, more: dict[str, Any]) -> Manifest:
    """An application of the folder of the cluster `new`, with a fault."""
    source = {"repoURL": place.repository, "targetRevision": "main", "path": "clusters/new/queues", **more.get("source", {})}
    destination = {"namespace": place.namespace.name, **more.get("destination", {"name": "in-cluster"})}
    spec = {"project": place.namespace.name, "source": source, "destination": destination, "syncPolicy": SERVER_SIDE}
    metadata = {"name": f"{place.namespace.name}-{name}", "namespace": gitops.NAMESPACE}
    return {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize("name", [*COPIED, "sound"])
def test_the_gate_refuses_an_application_of_another_cluster(name: str, place: Place, tmp_path: Path, opa: Evaluator) -> None:
    facts = tmp_path / "cluster.yaml"
    said = yaml.safe_load((ROOT / "clusters/lab/cluster.yaml").read_text(encoding="utf-8"))
    argocd = {"destination": "in-cluster", "repository": place.repository, "revision": "main"}
    facts.write_text(yaml.safe_dump({**said, "name": "new", "argocd": argocd}), encoding="utf-8")
    told = findings([copied(name, place, COPIED.get(name, {}))], tmp_path / "application.yaml", opa, facts)
    refused = "argocd/as-the-cluster" in {finding.rule for finding in told if finding.severity == "error"}
    assert refused == (name in COPIED)


def test_an_application_of_another_cluster_is_synced_and_leaves_its_own_empty(place: Place) -> None:
    """What is deployed is the other cluster's, or what another revision has, and Argo CD is content with it."""
    for name, more in COPIED.items():
        made = copied(name, place, more)
        place.apply("Application", made["metadata"]["name"], made["spec"])
    place.wait_said("destination", "there are no clusters with this name: old")
    place.wait_sync("path", "Synced")
    assert [each["name"] for each in place.status("path")["resources"]] == ["of-old"]
    place.wait_said("revision", "clusters/new/queues: app path does not exist")
    assert place.namespace.items("configmaps", "--field-selector=metadata.name=of-old") != []
    assert place.namespace.items("configmaps", "--field-selector=metadata.name=of-new") == []
    place.apply("Application", f"{place.namespace.name}-sound", copied("sound", place, {})["spec"])
    place.namespace.wait("what it should be", lambda: place.namespace.items("configmaps", "--field-selector=metadata.name=of-new") != [])
