"""What Kueue does by other configurations and beside other versions than the lab's, in a control plane of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gate import tools
from gate.evaluate import Evaluator
from lab import binaries
from lab.model import facts
from tests.lab import programs
from tests.lab.conftest import can_hold_a_lab
from tests.lab.live import Cluster, Manifest, Namespace, surroundings
from tests.lab.plane import Kueue, control_plane, install, kueue
from tests.lab.test_gate_and_cluster import Fault, accepted, made
from tests.lab.test_nodes import admitted, judged
from tests.lab.test_queues import jobset

LABEL = {"example.com/managed": "true"}
pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A control plane with the kinds of the lab's Trainer and JobSet."""
    can_hold_a_lab()
    with control_plane(tmp_path_factory.mktemp("plane")) as cluster:
        install(cluster, **{name: facts()["versions"][name] for name in ("trainer", "jobset")})
        yield cluster


@pytest.fixture(scope="module")
def theirs(plane: Cluster) -> Kueue:
    """The lab's Kueue, to be started."""
    return kueue(plane, binaries.modules()["kueue"].sources(), binaries.binary("kueue"))


def test_in_a_namespace_that_is_not_selected_a_run_is_suspended_and_has_no_workload(
    plane: Cluster, theirs: Kueue, tmp_path: Path, opa: Evaluator
) -> None:
    selected, other = queued("selected", labels=LABEL), queued("other")
    configuration = theirs.configuration(managedJobsNamespaceSelector={"matchLabels": LABEL})
    before = judged([configuration, *selected], tmp_path / "sound.yaml", opa)
    assert judged([configuration, *other], tmp_path / "fault.yaml", opa) - before == {("queue/kueue-manages-namespace", "error")}
    with theirs.started(tmp_path, configuration) as log:
        make(plane, other)
        make(plane, selected)
        plane.wait("the run in the other namespace is admitted", lambda: admitted(Namespace(cluster=plane, name="selected"), "run"))
        plane.wait("Kueue has looked", lambda: said(log, "Namespace not opted in for Kueue management", "other"))
        assert suspended(plane, "other")
        assert plane.get("workloads", "--namespace=other")["items"] == []

    configuration = theirs.configuration(
        managedJobsNamespaceSelector={"matchLabels": LABEL}, featureGates={"ManagedJobsNamespaceSelectorAlwaysRespected": False}
    )
    assert judged([configuration, *other], tmp_path / "off.yaml", opa) == before
    with theirs.started(tmp_path, configuration):
        plane.wait("the run is admitted", lambda: admitted(Namespace(cluster=plane, name="other"), "run"))


def test_kinds_that_kueue_is_not_told_to_manage_are_not_queued(plane: Cluster, theirs: Kueue, tmp_path: Path, opa: Evaluator) -> None:
    bare = jobset("bare", "unmanaged", "training", {})
    del bare["spec"]["suspend"]
    objects = [*queued("unmanaged"), bare]
    configuration = theirs.configuration(integrations={"frameworks": ["batch/job"]})
    before = judged([theirs.configuration(), *objects], tmp_path / "sound.yaml", opa)
    assert judged([configuration, *objects], tmp_path / "fault.yaml", opa) - before == {("queue/kueue-manages-trainjobs", "error")}
    with theirs.started(tmp_path, configuration):
        make(plane, objects)
        plane.apply(job("later", "unmanaged"))
        plane.wait("a Job that came later is admitted", lambda: admitted(Namespace(cluster=plane, name="unmanaged"), "later"))
        assert not suspended(plane, "unmanaged")
        assert not plane.get("jobset", "bare", "--namespace=unmanaged")["spec"].get("suspend")
        assert len(plane.get("workloads", "--namespace=unmanaged")["items"]) == 1


def test_kueue_stops_what_its_patience_does_not_suffice_for_again_and_again(
    plane: Cluster, theirs: Kueue, tmp_path: Path, opa: Evaluator
) -> None:
    objects = queued("impatient")
    grows = {"maxCount": 2, "provisioningSeconds": 60}
    patient, impatient = (
        theirs.configuration(waitForPodsReady={"timeout": timeout, "requeuingStrategy": {"backoffBaseSeconds": 1}})
        for timeout in ("2m", "2s")
    )
    before = judged([patient, *objects], tmp_path / "sound.yaml", opa, node=grows)
    found = judged([impatient, *objects], tmp_path / "fault.yaml", opa, node=grows)
    assert found - before == {("nodes/provisioned-in-time", "warning")}
    with theirs.started(tmp_path, impatient):
        make(plane, objects)

        def stops() -> int:
            """How often Kueue has stopped the run, for which no pod was ever ready."""
            status = [each.get("status", {}) for each in plane.get("workloads", "--namespace=impatient")["items"]]
            evictions = [each for one in status for each in one.get("schedulingStats", {}).get("evictions", [])]
            return sum(each["count"] for each in evictions if each["reason"] == "PodsReadyTimeout")

        plane.wait("stopped twice", lambda: stops() > 1)


@pytest.fixture
def old_trainer(plane: Cluster) -> Iterator[str]:
    """A version of Trainer without runtimePatches, whose kinds are there meanwhile."""
    install(plane, trainer="2.1.0")
    yield "2.1.0"
    install(plane, trainer=facts()["versions"]["trainer"])


def test_kueue_cannot_start_what_it_admits_where_trainer_has_no_runtime_patches(
    plane: Cluster, theirs: Kueue, tmp_path: Path, opa: Evaluator, old_trainer: str
) -> None:
    objects = queued("old-trainer")
    (run,) = (each for each in objects if each["kind"] == "TrainJob")
    del run["spec"]["runtimePatches"]
    before = judged(objects, tmp_path / "sound.yaml", opa, versions={"trainer": old_trainer, "kueue": programs.version("old-kueue")})
    found = judged(objects, tmp_path / "fault.yaml", opa, versions={"trainer": old_trainer})
    assert found - before == {("versions/kueue-and-trainer", "error")}
    with theirs.started(tmp_path, theirs.configuration()) as log:
        make(plane, objects)
        plane.wait("the run is admitted", lambda: admitted(Namespace(cluster=plane, name="old-trainer"), "run"))
        plane.wait("Kueue cannot start it", lambda: said(log, "kueue runtime patch not found", "old-trainer"))
        assert suspended(plane, "old-trainer")


@pytest.mark.long  # and the last, since its Kueue takes the place of the other
def test_an_old_kueue_drops_what_it_decides_and_the_patches_of_the_run(plane: Cluster, tmp_path: Path, opa: Evaluator) -> None:
    """It writes podTemplateOverrides, which this Trainer does not have, and knows no runtimePatches."""
    objects = queued("old-kueue", flavor={"nodeLabels": {"example.com/pool": "new"}})
    (run,) = (each for each in objects if each["kind"] == "TrainJob")
    before = judged(objects, tmp_path / "sound.yaml", opa)
    found = judged(objects, tmp_path / "fault.yaml", opa, versions={"kueue": programs.version("old-kueue")})
    assert found - before >= {("versions/kueue-and-trainer", "error")}
    old = kueue(plane, tools.module("kueue", programs.version("old-kueue")), programs.binary("old-kueue"))
    with old.started(tmp_path, old.configuration()):
        make(plane, objects)
        plane.wait("the run is admitted", lambda: admitted(Namespace(cluster=plane, name="old-kueue"), "run"))
        plane.wait("Kueue starts it", lambda: not suspended(plane, "old-kueue"))
    spec = plane.get("trainjob", "run", "--namespace=old-kueue")["spec"]
    assert run["spec"]["runtimePatches"]
    assert "runtimePatches" not in spec
    assert "podTemplateOverrides" not in spec


# --- what they are made of, and what is looked at ---------------------------------------------------------------


def queued(namespace: str, *, labels: dict[str, str] | None = None, flavor: Manifest | None = None) -> list[Manifest]:
    """A namespace with a queue, and the run `run` in it, with its runtime."""
    around = surroundings(namespace)[:3]
    around[0]["metadata"]["labels"] = {"kubernetes.io/metadata.name": namespace, **(labels or {})}
    around[1]["spec"]["resourceGroups"][0]["flavors"][0]["name"] = namespace
    around.append({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": namespace}, "spec": flavor or {}})
    return [*around, *made("run", namespace, of=Fault(rules=set()))]


def make(plane: Cluster, objects: list[Manifest]) -> None:
    """Makes them as soon as Kueue's webhook knows the runtime."""
    late = ("TrainJob", "ConfigMap")
    plane.apply(*(each for each in objects if each["kind"] not in late))
    others = [each for each in objects if each["kind"] in late]
    assert accepted(plane, others) == ""
    plane.apply(*others)


def job(name: str, namespace: str) -> Manifest:
    """A Job of a kind that Kueue manages."""
    container = {"name": "main", "image": "busybox:1.37", "resources": {"requests": {"cpu": "1m"}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    metadata = {"name": name, "namespace": namespace, "labels": {"kueue.x-k8s.io/queue-name": "training"}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}}


def suspended(plane: Cluster, namespace: str) -> bool:
    return bool(plane.get("trainjob", "run", f"--namespace={namespace}")["spec"].get("suspend"))


def said(log: Path, words: str, about: str) -> bool:
    return any(words in line and about in line for line in log.read_text(encoding="utf-8").splitlines())
