"""What rules say of Argo CD, in applications of a small repository of their own: nothing else in the lab is deployed."""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from gate.evaluate import Evaluator
from lab import binaries, gitops, model
from tests.conftest import ROOT
from tests.lab.conftest import Cluster, own
from tests.lab.live import Manifest, Namespace, trainjob
from tests.lab.test_gate_and_cluster import findings

pytestmark = pytest.mark.lab
SERVER_SIDE = {"automated": {}, "syncOptions": ["ServerSideApply=true"]}
FAULTS: dict[str, tuple[dict[str, str], str]] = {  # what of an application is otherwise, and what Argo CD says
    "no-repository": (
        {"repository": "https://example.com/another"},
        "application repo https://example.com/another is not permitted in project",
    ),
    "no-project": ({"project": "nowhere"}, "Application referencing project nowhere which does not exist"),
    "no-place": ({"namespace": "nowhere"}, "and namespace 'nowhere' do not match any of the allowed destinations"),
    "no-path": ({"path": "nowhere"}, "nowhere: app path does not exist"),
}
APPLIED = {"client-side": [], "server-side": ["ServerSideApply=true"], "replaced": ["Replace=true"]}  # how, and by which options
WEBHOOKS = ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration")


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A namespace, a repository that Argo CD can read, and a project for the two; all of the namespace's name."""

    namespace: Namespace
    repository: str
    made: list[Manifest]

    def application(self, name: str, *, path: str, policy: Manifest | None = None, more: Manifest | None = None, **fault: str) -> Manifest:
        """One of a folder, with something wrong."""
        name_of_all = self.namespace.name
        found = {"repository": self.repository, "project": name_of_all, "namespace": name_of_all, "path": path, **fault}
        spec = {
            "project": found["project"],
            "source": {"repoURL": found["repository"], "targetRevision": "main", "path": found["path"]},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": found["namespace"]},
            **({"syncPolicy": policy} if policy else {}),
            **(more or {}),
        }
        return self.argocd("Application", f"{self.namespace.name}-{name}", spec)

    def argocd(self, kind: str, name: str, spec: Manifest) -> Manifest:
        metadata = {"name": name, "namespace": gitops.NAMESPACE}
        return {"apiVersion": "argoproj.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}

    def deploy(self, name: str, *, path: str, policy: Manifest | None = None, more: Manifest | None = None, **fault: str) -> None:
        self.apply(self.application(name, path=path, policy=policy, more=more, **fault))

    def apply(self, manifest: Manifest) -> None:
        self.made.append(manifest)
        self.namespace.cluster.apply(manifest)

    def facts(self, folder: Path, **more: str) -> Path:
        """The lab's facts, written to a folder that then is this repository to the gate."""
        said = yaml.safe_load((ROOT / "clusters/lab/cluster.yaml").read_text(encoding="utf-8"))
        argocd = {"destination": "in-cluster", "repository": self.repository, "revision": "main"}
        file = folder / "cluster.yaml"
        file.write_text(yaml.safe_dump({**said, "argocd": argocd, **more}), encoding="utf-8")
        return file

    def status(self, name: str) -> Manifest:
        words = ("applications.argoproj.io", f"{self.namespace.name}-{name}", f"--namespace={gitops.NAMESPACE}")
        found: Manifest = self.namespace.cluster.get(*words).get("status", {})
        return found

    def wait_said(self, name: str, words: str) -> None:
        self.namespace.wait(f"{name}: {words}", lambda: words in str(self.status(name).get("conditions")))

    def wait_sync(self, name: str, state: str) -> None:
        self.namespace.wait(f"{name} {state}", lambda: self.status(name).get("sync", {}).get("status") == state)

    def wait_ended(self, name: str, phase: str) -> None:
        self.namespace.wait(f"{name} {phase}", lambda: self.status(name).get("operationState", {}).get("phase") == phase)


@pytest.fixture(scope="module")
def place(cluster: Cluster, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("repository")
    write(folder / "nothing" / "README.md", "no manifest\n")
    for name in QUEUED:
        for version in ("first", "second"):
            write(folder / "queued" / name / version / "runs.yaml", yaml.safe_dump_all(queued(name, version)))
    for name in ("forced", "as-option"):
        metadata = {"name": name, **({"annotations": {"argocd.argoproj.io/sync-options": "Force=true"}} if name == "forced" else {})}
        write(folder / name / "map.yaml", yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}))
    for name in ("one", "two", "neither"):
        maps = [config_map(f"of-{name}"), *([config_map("shared", by=name)] if name != "neither" else [])]
        write(folder / "shared" / name / "maps.yaml", yaml.safe_dump_all(maps))
    for cluster_name in ("old", "new"):  # the folders of two clusters
        made_there = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"of-{cluster_name}"}}
        write(folder / "clusters" / cluster_name / "queues" / "map.yaml", yaml.safe_dump(made_there))
    for how in APPLIED:
        write(folder / "too-big" / how / "definition.json", json.dumps(definition(how)))
        for version in ("first", "second"):
            write(folder / "written-into" / how / version / "all.yaml", yaml.safe_dump_all(written_into(how, version)))
    for version in ("first", "second"):
        write(folder / "operated" / version / "run.yaml", yaml.safe_dump(operated(version)))
    for name in WAVES:
        write(folder / "waves" / name / "all.yaml", yaml.safe_dump_all(with_runtime(name)))
    write(folder / "claims" / "all.yaml", yaml.safe_dump_all([config_map("beside-claims"), *(claim(name) for name in CLAIMS)]))
    write(folder / "claims-gone" / "all.yaml", yaml.safe_dump(config_map("beside-claims")))
    commit(folder)
    git(folder, "switch", "--quiet", "--create=other")
    git(folder, "rm", "--quiet", "-r", "clusters/new")
    git(folder, "commit", "--quiet", "--message=less")
    git(folder, "switch", "--quiet", "main")
    with placed(cluster, request, folder, ("apiextensions.k8s.io", "CustomResourceDefinition"), WEBHOOKS) as made:
        yield made


@contextlib.contextmanager
def placed(cluster: Cluster, request: pytest.FixtureRequest, folder: Path, *kinds: tuple[str, str]) -> Iterator[Place]:
    """A Place of the repository in a folder, whose project allows some kinds without a namespace. What is applied there goes again."""
    with own(cluster, request) as namespace:
        served = cluster.lab.state / "git" / f"{namespace.name}.git"
        shutil.rmtree(served, ignore_errors=True)
        git(folder, "clone", "--quiet", "--bare", ".", str(served))
        made = Place(namespace=namespace, repository=f"git://{model.GATEWAY}/{served.name}", made=[])
        try:
            spec = {
                "sourceRepos": [made.repository],
                "destinations": [{"server": "*", "namespace": namespace.name}],
                "clusterResourceWhitelist": [{"group": group, "kind": kind} for group, kind in kinds],
            }
            made.apply(made.argocd("AppProject", namespace.name, spec))
            yield made
        finally:
            cluster.kubectl("delete", "--ignore-not-found", "--filename=-", given=yaml.safe_dump_all(made.made[::-1]))
            shutil.rmtree(served)


def config_map(name: str, **data: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")


def commit(folder: Path) -> None:
    """Makes a folder a repository."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=all")


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-c", "user.name=lab", "-c", "user.email=lab@example.com", "-C", str(folder), *words], check=True)


@pytest.mark.parametrize("name", FAULTS)
def test_an_application_that_leads_nowhere_says_why(name: str, place: Place) -> None:
    fault, said = FAULTS[name]
    place.deploy(name, **{"path": "nothing", **fault})
    place.wait_said(name, said)


def test_an_application_of_a_folder_without_manifests_is_synced_and_deploys_nothing(place: Place) -> None:
    place.deploy("nothing", path="nothing")
    place.wait_sync("nothing", "Synced")
    assert not place.status("nothing").get("resources")


def for_each(folder: str, place: Place) -> Manifest:
    """An ApplicationSet of a folder's folders."""
    template = place.application(f"each-{folder}-{{{{ .path.basename }}}}", path="{{ .path.path }}")
    git_generator = {"repoURL": place.repository, "revision": "main", "directories": [{"path": f"{folder}/*"}]}
    made = {"metadata": {"name": template["metadata"]["name"]}, "spec": template["spec"]}
    spec = {"goTemplate": True, "generators": [{"git": git_generator}], "template": made}
    return place.argocd("ApplicationSet", f"{place.namespace.name}-{folder}", spec)


def test_an_application_set_of_folders_that_are_not_there_makes_nothing_and_is_content(
    place: Place, tmp_path: Path, opa: Evaluator
) -> None:
    write(tmp_path / "shared" / "one" / "map.yaml", yaml.safe_dump(config_map("shared")))
    facts = place.facts(tmp_path)
    for folder in ("share", "shared"):
        told = findings([for_each(folder, place)], tmp_path / f"of-{folder}.yaml", opa, facts)
        assert ("argocd/path-exists" in {each.rule for each in told if each.severity == "error"}) == (folder == "share")
        place.apply(for_each(folder, place))

    def conditions(folder: str) -> dict[str, str]:
        there = place.namespace.cluster.get(
            "applicationsets.argoproj.io", f"{place.namespace.name}-{folder}", f"--namespace={gitops.NAMESPACE}"
        )
        return {each["type"]: each["status"] for each in there.get("status", {}).get("conditions", [])}

    for folder in ("share", "shared"):
        place.namespace.wait(f"{folder} generated", lambda folder=folder: conditions(folder).get("ResourcesUpToDate") == "True")
        assert conditions(folder)["ErrorOccurred"] == "False"
    listed = place.namespace.cluster.get("applications.argoproj.io", f"--namespace={gitops.NAMESPACE}")["items"]
    start = f"{place.namespace.name}-each-"
    found = {name.removeprefix(start) for each in listed if (name := each["metadata"]["name"]).startswith(start)}
    assert found == {"shared-one", "shared-two", "shared-neither"}


def test_an_object_of_two_applications_is_the_ones_that_applied_it_last(place: Place) -> None:
    """It overwrites, and the other only says so, unless it heals itself; what it no longer has is deleted, in spite of the other."""

    def written() -> list[str]:
        """What is in the object, as long as it is there."""
        return [each["data"]["by"] for each in place.namespace.items("configmaps", "--field-selector=metadata.name=shared")]

    policy = {**SERVER_SIDE, "automated": {"prune": True}}
    for name in ("one", "two"):
        place.deploy(name, path=f"shared/{name}", policy=policy)
        place.namespace.wait(f"made by {name}", lambda name=name: written() == [name])
    place.wait_sync("one", "OutOfSync")
    place.wait_said("one", "ConfigMap/shared is part of applications")
    assert written() == ["two"]
    place.deploy("one", path="shared/neither", policy=policy)
    place.wait_sync("one", "Synced")
    assert written() == ["two"]
    place.deploy("one", path="shared/one", policy=policy)
    place.namespace.wait("made by one again", lambda: written() == ["one"])
    place.deploy("two", path="shared/two", policy={**policy, "automated": {"prune": True, "selfHeal": True}})
    place.namespace.wait("undone by two", lambda: written() == ["two"])
    place.deploy("two", path="shared/neither", policy=policy)
    place.namespace.wait("deleted by two", lambda: written() == [])
    place.wait_sync("one", "OutOfSync")


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Queued:
    """How an application deploys runs that Kueue queues, and what comes of it."""

    options: tuple[str, ...] = ()
    ignored: tuple[Manifest, ...] = ()
    spec: Manifest = field(default_factory=dict)  # what its runs have in Git beside the others'
    sync: str = "Synced"  # as soon as one of them is admitted
    refused: bool = False  # what a sync writes into that one
    lost: bool = False  # what Kueue wrote into the one that waits
    suspended: bool = False  # the one that was admitted


def ignoring(**fields: list[str]) -> tuple[Manifest, ...]:
    return ({"group": "trainer.kubeflow.org", "kind": "TrainJob", **fields},)


(RUNS,) = yaml.safe_load_all((ROOT / "base/argocd/cluster/runs.yaml").read_text(encoding="utf-8"))
OURS: dict[str, Any] = RUNS["spec"]["template"]["spec"]
PATCHES = ['.spec.runtimePatches[]? | select(.manager == "kueue.x-k8s.io/manager")', ".spec.runtimePatches[]?.time"]
QUEUED = {
    "as-ours": Queued(options=tuple(OURS["syncPolicy"]["syncOptions"]), ignored=tuple(OURS["ignoreDifferences"])),
    "server-side": Queued(options=("ServerSideApply=true",)),
    "client-side": Queued(options=("RespectIgnoreDifferences=true",), ignored=ignoring(jqPathExpressions=PATCHES)),
    "compared": Queued(
        options=("RespectIgnoreDifferences=true",),
        ignored=ignoring(jsonPointers=["/spec/suspend"]),
        sync="OutOfSync",
        refused=True,
        lost=True,
    ),
    "hidden": Queued(ignored=ignoring(jsonPointers=["/spec/suspend"], jqPathExpressions=PATCHES), refused=True, lost=True),
    "in-git": Queued(options=("ServerSideApply=true",), spec={"suspend": True}, sync="OutOfSync", suspended=True),
}


def queued(name: str, version: str) -> list[Manifest]:
    """A run that Kueue admits, whose pods no node takes, and one in a queue that is held. The versions differ in their code alone."""
    found = []
    for state, queue in {"admitted": "training", "waiting": "held"}.items():
        pod = {"nodeSelector": {"example.com/nothing": "at-all"}}
        code, job = trainjob(f"{name}-{state}", f"# {version}", workers=1, gpus=0, queue=queue, pod=pod)
        job["spec"] |= QUEUED[name].spec
        found += [code, job]
    return found


def deploying(name: str, place: Place, path: str) -> Manifest:
    each = QUEUED[name]
    policy = {"automated": {}, "retry": {"limit": 0}, "syncOptions": list(each.options)}
    return place.application(name, path=path, policy=policy, more={"ignoreDifferences": list(each.ignored)})


@pytest.mark.parametrize("name", QUEUED)
def test_the_gate_refuses_what_takes_from_a_run_what_kueue_wrote(name: str, place: Place, tmp_path: Path, opa: Evaluator) -> None:
    path = f"queued/{name}/first"
    write(tmp_path / path / "runs.yaml", yaml.safe_dump_all(queued(name, "first")))
    told = findings([deploying(name, place, path)], tmp_path / "application.yaml", opa, place.facts(tmp_path))
    refused = "argocd/kueue-ignored" in {each.rule for each in told if each.severity == "error"}
    assert refused == (QUEUED[name].refused or QUEUED[name].lost or QUEUED[name].suspended)


def test_a_sync_takes_from_a_run_what_kueue_wrote_and_argo_cd_does_not_leave_alone(place: Place) -> None:
    """Of a run that waits, which then keeps its quota and never starts; that of an admitted one is refused, and the sync fails."""

    def job(name: str, state: str) -> Manifest:
        return place.namespace.get("trainjob", f"{name}-{state}")

    def of_kueue(name: str, state: str) -> bool:
        return "kueue.x-k8s.io/manager" in {each["manager"] for each in job(name, state)["spec"]["runtimePatches"]}

    def said(name: str) -> dict[str, str]:
        """What a sync of the second version came to, for each run."""
        operation = place.status(name).get("operationState", {})
        result = operation.get("syncResult", {})
        if operation.get("phase") not in ("Succeeded", "Failed") or not result["source"]["path"].endswith("second"):
            return {}
        return {each["name"]: each["message"] for each in result["resources"] if each["kind"] == "TrainJob"}

    held = {"name": "held", "namespace": place.namespace.name}
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": held}
    place.namespace.apply({**queue, "spec": {"clusterQueue": place.namespace.name, "stopPolicy": "Hold"}})
    for name in QUEUED:
        place.apply(deploying(name, place, f"queued/{name}/first"))
    for name, each in QUEUED.items():
        place.wait_ended(name, "Succeeded")
        place.namespace.wait(f"{name} admitted", lambda name=name: not job(name, "admitted")["spec"]["suspend"])
        place.wait_sync(name, each.sync)
        assert of_kueue(name, "waiting")
    before = {name: job(name, "admitted")["metadata"]["generation"] for name in QUEUED}
    for name in QUEUED:
        place.apply(deploying(name, place, f"queued/{name}/second"))
    for name, each in QUEUED.items():
        place.namespace.wait(f"{name} synced again", lambda name=name: bool(said(name)))
        assert ("RuntimePatches can only be modified when the TrainJob is suspended" in said(name)[f"{name}-admitted"]) == each.refused
        assert (job(name, "admitted")["metadata"]["generation"] > before[name]) == each.suspended
        assert of_kueue(name, "waiting") != each.lost
    place.namespace.kubectl("patch", "localqueue", "held", "--type=merge", '--patch={"spec": {"stopPolicy": "None"}}')
    for name, each in QUEUED.items():
        waits = f"{name}-waiting"
        place.namespace.wait(
            f"{waits} has its quota",
            lambda waits=waits: any(
                place.namespace.condition("workload", w["metadata"]["name"], "Admitted") for w in place.namespace.workloads(waits)
            ),
        )
        if not each.lost:
            place.namespace.wait(f"{waits} starts", lambda name=name: not job(name, "waiting")["spec"]["suspend"])
    assert {name for name in QUEUED if job(name, "waiting")["spec"]["suspend"]} == {name for name, each in QUEUED.items() if each.lost}


WAVES = {"earlier": "-1", "together": "0", "later": "1"}  # of the runtime; the run is in 0


def with_runtime(name: str) -> list[Manifest]:
    """A suspended run, whose name is the first of the two, and a runtime of its own."""
    node = {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}}
    pod = {"containers": [{"name": "node", "image": "registry.k8s.io/pause:3.10"}]}
    job = {"name": "node", "template": {**node, "spec": {"template": {"spec": pod}}}}
    waved = {"name": f"{name}-runtime", "annotations": {"argocd.argoproj.io/sync-wave": WAVES[name]}}
    trainer = "trainer.kubeflow.org/v1alpha1"
    runtime = {"kind": "TrainingRuntime", "name": f"{name}-runtime"}
    return [
        {"apiVersion": trainer, "kind": "TrainJob", "metadata": {"name": name}, "spec": {"suspend": True, "runtimeRef": runtime}},
        {"apiVersion": trainer, "kind": "TrainingRuntime", "metadata": waved, "spec": {"template": {"spec": {"replicatedJobs": [job]}}}},
    ]


@pytest.mark.parametrize(("name", "severity"), {"earlier": None, "together": "warning", "later": "error"}.items())
def test_the_gate_refuses_a_runtime_in_a_later_wave(name: str, severity: str | None, place: Place, tmp_path: Path, opa: Evaluator) -> None:
    write(tmp_path / "waves" / name / "all.yaml", yaml.safe_dump_all(with_runtime(name)))
    told = findings([place.application(name, path=f"waves/{name}")], tmp_path / "application.yaml", opa, place.facts(tmp_path))
    assert [each.severity for each in told if each.rule == "argocd/runtime-before-run"] == ([severity] if severity else [])


def test_a_runtime_in_a_later_wave_than_its_run_is_never_applied(place: Place) -> None:
    """In an earlier one it is there in time, in the same one a second attempt finds it."""
    policy = {**SERVER_SIDE, "retry": {"limit": 2, "backoff": {"duration": "1s", "factor": 1}}}
    for name in WAVES:
        place.deploy(f"wave-{name}", path=f"waves/{name}", policy=policy)
    attempts = {}
    for name in WAVES:
        place.wait_ended(f"wave-{name}", "Failed" if name == "later" else "Succeeded")
        attempts[name] = 1 + place.status(f"wave-{name}")["operationState"].get("retryCount", 0)
    assert attempts["earlier"] == 1 < attempts["together"]
    [refused] = place.status("wave-later")["operationState"]["syncResult"]["resources"]
    assert "denied the request" in refused["message"]
    assert "later-runtime" in refused["message"]
    assert place.namespace.items("trainjobs", "--field-selector=metadata.name=later") == []
    assert {each["metadata"]["name"] for each in place.namespace.items("trainingruntimes")} == {"earlier-runtime", "together-runtime"}


OPTIONS = "argocd.argoproj.io/sync-options"
CLAIMS = {  # and their annotations
    "neither": {},
    "not-pruned": {OPTIONS: "Prune=false"},
    "kept": {OPTIONS: "Prune=false,Delete=false"},
    "kept-as-by-helm": {OPTIONS: "Prune=false", "helm.sh/resource-policy": "keep"},
    "pruned-in-spite-of-helm": {"helm.sh/resource-policy": "keep"},
}


def claim(name: str) -> Manifest:
    """One that no volume has."""
    metadata = {"name": name, **({"annotations": CLAIMS[name]} if CLAIMS[name] else {})}
    spec = {"accessModes": ["ReadWriteMany"], "storageClassName": "none", "resources": {"requests": {"storage": "1Mi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def keeper(place: Place, path: str, *, prune: bool = False, final: bool = False) -> Manifest:
    """The application of the claims. It heals itself where it prunes: else no second sync of a revision would come."""
    made = place.application("claims", path=path, policy={**SERVER_SIDE, "automated": {"prune": prune, "selfHeal": prune}})
    made["metadata"] |= {"finalizers": ["resources-finalizer.argocd.argoproj.io/background"]} if final else {}
    return made


@pytest.mark.parametrize(
    ("how", "deleted"),
    [({}, set()), ({"prune": True}, {"neither", "pruned-in-spite-of-helm"}), ({"final": True}, {"neither", "not-pruned"})],
    ids=str,
)
def test_the_gate_tells_which_claims_argo_cd_deletes(
    how: dict[str, bool], deleted: set[str], place: Place, tmp_path: Path, opa: Evaluator
) -> None:
    write(tmp_path / "claims" / "all.yaml", yaml.safe_dump_all(claim(name) for name in CLAIMS))
    told = findings([keeper(place, "claims", **how)], tmp_path / "application.yaml", opa, place.facts(tmp_path))
    said = " ".join(each.message for each in told if each.rule == "argocd/claims-kept")
    assert {name for name in CLAIMS if f"PersistentVolumeClaim/{name} " in said} == deleted


def test_a_claim_is_deleted_with_its_manifest_or_its_application(place: Place) -> None:
    """Unless it says otherwise."""

    def there() -> set[str]:
        return {each["metadata"]["name"] for each in place.namespace.items("persistentvolumeclaims")} & set(CLAIMS)

    place.apply(keeper(place, "claims"))
    place.namespace.wait("the claims", lambda: there() == set(CLAIMS))
    place.wait_ended("claims", "Succeeded")
    place.apply(keeper(place, "claims-gone"))
    place.wait_sync("claims", "OutOfSync")
    assert there() == set(CLAIMS)
    place.apply(keeper(place, "claims-gone", prune=True))
    place.namespace.wait("two are pruned", lambda: there() == {"not-pruned", "kept", "kept-as-by-helm"})
    place.apply(keeper(place, "claims-gone", prune=True, final=True))
    place.namespace.cluster.kubectl("delete", "application", f"{place.namespace.name}-claims", f"--namespace={gitops.NAMESPACE}")
    place.namespace.wait("one is deleted", lambda: there() == {"kept", "kept-as-by-helm"})


def test_an_operation_that_forces_makes_anew_what_cannot_be_changed(place: Place, tmp_path: Path, opa: Evaluator) -> None:
    """A suspended run in two versions, whose command differs: one operation says so, and one that forces deletes the run for it."""

    def uid() -> str:
        found: str = place.namespace.get("trainjob", "operated")["metadata"]["uid"]
        return found

    def operation(version: str, *, force: bool) -> Manifest:
        made = place.application("operated", path=f"operated/{version}")
        return {**made, "operation": {"sync": {"syncStrategy": {"apply": {"force": force}}}}}

    def ended(version: str, phase: str) -> None:
        def said() -> bool:
            found = place.status("operated").get("operationState", {})
            return found.get("phase") == phase and found["syncResult"]["source"]["path"].endswith(version)

        place.namespace.wait(f"{version} {phase}", said)

    write(tmp_path / "operated" / "second" / "run.yaml", yaml.safe_dump(operated("second")))
    facts = place.facts(tmp_path)
    for force in (False, True):
        told = findings([operation("second", force=force)], tmp_path / f"{force}.yaml", opa, facts)
        assert ("argocd/no-force-or-replace" in {each.rule for each in told if each.severity == "error"}) == force
    place.apply(operation("first", force=False))
    ended("first", "Succeeded")
    before = uid()
    place.apply(operation("second", force=False))
    ended("second", "Failed")
    assert "field is immutable" in str(place.status("operated")["operationState"])
    assert uid() == before
    place.apply(operation("second", force=True))
    ended("second", "Succeeded")
    assert uid() != before


def operated(version: str) -> Manifest:
    """A run that its author suspended, and Kueue knows nothing of."""
    _, job = trainjob("operated", "", queue=None)
    job["spec"] |= {"suspend": True}
    job["spec"]["trainer"]["command"] = ["python3", f"{version}.py"]
    return job


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
    return place.argocd("Application", f"{place.namespace.name}-{name}", spec)


@pytest.mark.parametrize("name", [*COPIED, "sound"])
def test_the_gate_refuses_an_application_of_another_cluster(name: str, place: Place, tmp_path: Path, opa: Evaluator) -> None:
    facts = place.facts(tmp_path, name="new")
    told = findings([copied(name, place, COPIED.get(name, {}))], tmp_path / "application.yaml", opa, facts)
    refused = "argocd/as-the-cluster" in {finding.rule for finding in told if finding.severity == "error"}
    assert refused == (name in COPIED)


def test_an_application_of_another_cluster_is_synced_and_leaves_its_own_empty(place: Place) -> None:
    """What is deployed is the other cluster's, or what another revision has, and Argo CD is content with it."""
    for name, more in COPIED.items():
        place.apply(copied(name, place, more))
    place.wait_said("destination", "there are no clusters with this name: old")
    place.wait_sync("path", "Synced")
    assert [each["name"] for each in place.status("path")["resources"]] == ["of-old"]
    place.wait_said("revision", "clusters/new/queues: app path does not exist")
    assert place.namespace.items("configmaps", "--field-selector=metadata.name=of-old") != []
    assert place.namespace.items("configmaps", "--field-selector=metadata.name=of-new") == []
    place.apply(copied("sound", place, {}))
    place.namespace.wait("what it should be", lambda: place.namespace.items("configmaps", "--field-selector=metadata.name=of-new") != [])


@functools.cache
def upstream() -> str:
    file = binaries.modules()["jobset"].sources() / "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml"
    return json.dumps(yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader))


def definition(how: str) -> Manifest:
    """JobSet's, of a kind that nothing else has."""
    made: Manifest = json.loads(upstream())
    made["metadata"]["name"] = f"owls.{how}.example.com"
    made["spec"] |= {"group": f"{how}.example.com", "names": {"kind": "Owl", "listKind": "OwlList", "plural": "owls", "singular": "owl"}}
    return made


def once(how: str) -> Manifest:
    return {"automated": {}, "retry": {"limit": 0}, "syncOptions": APPLIED[how]}


@pytest.mark.parametrize("how", APPLIED)
def test_the_gate_refuses_what_is_too_big_for_client_side_apply(how: str, place: Place, tmp_path: Path, opa: Evaluator) -> None:
    path = f"too-big/{how}"
    write(tmp_path / path / "definition.json", json.dumps(definition(how)))
    made = place.application(f"too-big-{how}", path=path, policy=once(how))
    told = findings([made], tmp_path / "application.yaml", opa, place.facts(tmp_path))
    assert ("argocd/server-side-apply" in {each.rule for each in told if each.severity == "error"}) == (how == "client-side")


def test_a_definition_that_is_too_big_is_applied_server_side_or_replaced(place: Place) -> None:
    definitions = {how: definition(how) for how in APPLIED}
    for how, each in definitions.items():
        place.made.append(bare(each))
        place.deploy(f"too-big-{how}", path=f"too-big/{how}", policy=once(how))
    place.wait_ended("too-big-client-side", "Failed")
    [failed] = place.status("too-big-client-side")["operationState"]["syncResult"]["resources"]
    assert "metadata.annotations: Too long: may not be more than 262144 bytes" in failed["message"]
    for how in ("server-side", "replaced"):
        place.wait_ended(f"too-big-{how}", "Succeeded")
    there = {each["metadata"]["name"] for each in place.namespace.items("customresourcedefinitions")}
    assert [how for how, each in definitions.items() if each["metadata"]["name"] in there] == ["server-side", "replaced"]


def bare(manifest: Manifest) -> Manifest:
    """What is enough to delete it."""
    return {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"], "metadata": {"name": manifest["metadata"]["name"]}}


CERTIFICATE = base64.b64encode(b"a certificate").decode()


def written_into(how: str, version: str) -> list[Manifest]:
    """A Secret and a webhook as components have them in Git: without the certificates that their controllers make."""
    metadata = {"name": f"test-written-into-{how}", "labels": {"example.com/version": version}}
    webhook = {  # which no request reaches
        "name": "nothing.example.com",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": "nothing", "namespace": "nowhere"}},
        "failurePolicy": "Ignore",
        "objectSelector": {"matchLabels": {"example.com/nothing": how}},
        "rules": [{"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nothings"]}],
        "sideEffects": "None",
    }
    return [
        {"apiVersion": "v1", "kind": "Secret", "metadata": metadata},
        {"apiVersion": f"{WEBHOOKS[0]}/v1", "kind": WEBHOOKS[1], "metadata": metadata, "webhooks": [webhook]},
    ]


def live(how: str, place: Place) -> list[Manifest]:
    name = f"test-written-into-{how}"
    return [place.namespace.get("secret", name), place.namespace.cluster.get(WEBHOOKS[1].lower(), name)]


def certificates(secret: Manifest, configuration: Manifest) -> set[str]:
    """Those that are in them."""
    found = [*secret.get("data", {}).values(), *(each["clientConfig"].get("caBundle") for each in configuration["webhooks"])]
    return {each for each in found if each}


def test_what_a_controller_writes_is_lost_where_argo_cd_replaces(place: Place, tmp_path: Path, opa: Evaluator) -> None:
    """The gate knows such objects by whose they are, so it judges an application of Kueue's with the options of each."""
    kueue = {"repoURL": "https://github.com/kubernetes-sigs/kueue", "path": "config/default", "targetRevision": "v0.17.0"}
    for how in ("server-side", "replaced"):
        name, path = f"written-into-{how}", f"written-into/{how}"
        judged = place.application(name, path=path, policy=once(how), more={"source": kueue})
        told = findings([judged], tmp_path / f"{how}.yaml", opa)
        assert ("argocd/server-side-apply" in {each.rule for each in told}) == (how == "replaced")
        place.made.append(bare(written_into(how, "first")[1]))
        place.deploy(name, path=f"{path}/first", policy=once(how))
    for how in ("server-side", "replaced"):
        name = f"written-into-{how}"
        place.wait_sync(name, "Synced")
        place.wait_ended(name, "Succeeded")
        place.namespace.kubectl("patch", "secret", f"test-{name}", f"--patch={json.dumps({'data': {'tls.crt': CERTIFICATE}})}")
        change = [{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": CERTIFICATE}]
        place.namespace.kubectl("patch", WEBHOOKS[1], f"test-{name}", "--type=json", f"--patch={json.dumps(change)}")
        assert certificates(*live(how, place)) == {CERTIFICATE}
        place.deploy(name, path=f"written-into/{how}/second", policy=once(how))
    for how, left in {"server-side": {CERTIFICATE}, "replaced": set()}.items():
        place.namespace.wait(
            f"the next version, {how}",
            lambda how=how: {each["metadata"]["labels"]["example.com/version"] for each in live(how, place)} == {"second"},
        )
        assert certificates(*live(how, place)) == left
