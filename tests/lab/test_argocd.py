"""What a push does, in the lab's own Argo CD: a copy of the estate is pushed, with small runs instead of its own."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from lab import gitops
from lab import up as engine
from tests.lab.live import JOBSET_NAME, Cluster, trainjob

pytestmark = [pytest.mark.lab, pytest.mark.long, pytest.mark.usefixtures("diagnostics")]
WAIT = 300  # seconds, where things take some: the machine may be busy
SCRIPT = """import pathlib, time
folder = pathlib.Path("/workspace/checkpoints")
(folder / "at-NAME").touch()
while not (folder / "go-NAME").exists(): time.sleep(0.2)
"""
KUEUE, VOLCANO = "tensorflow-distributed", "tensorflow-distributed-volcano"


@dataclass(frozen=True, kw_only=True, slots=True)
class Estate:
    """A checkout of its own that is pushed to the lab."""

    folder: Path
    cluster: Cluster

    def git(self, *words: str) -> str:
        author = ["-c", "user.name=lab", "-c", "user.email=lab@example.com"]
        return subprocess.run(["git", *author, *words], cwd=self.folder, check=True, capture_output=True, text=True).stdout

    def push(self, why: str) -> None:
        """The only command that deploys anything in these tests."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", f"--message={why}")
        gitops.push(self.cluster.lab, self.folder)
        gitops.refresh(self.cluster.lab)

    def write(self, path: str, *objects: dict[str, Any]) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(yaml.safe_dump_all(objects), encoding="utf-8")

    def run(self, name: str, *, runtime: str = KUEUE, nodes: int = 1, gated: bool = False) -> Path:
        """A run folder, whose training waits for `release` or does nothing at all."""
        queue = "training" if runtime != VOLCANO else None
        code, job = trainjob(name, SCRIPT.replace("NAME", name) if gated else "", workers=nodes, runtime=runtime, queue=queue)
        job["metadata"] = {key: value for key, value in job["metadata"].items() if value}  # no labels: Argo CD takes {} for a difference
        folder = f"clusters/lab/runs/{name}"
        self.write(f"{folder}/code.yaml", code)
        self.write(f"{folder}/trainjob.yaml", job)
        self.write(f"{folder}/kustomization.yaml", {"namespace": "training", "resources": ["code.yaml", "trainjob.yaml"]})
        return self.folder / folder

    def release(self, name: str) -> None:
        (self.cluster.lab.state / "checkpoints" / f"go-{name}").touch()

    def applications(self) -> dict[str, dict[str, Any]]:
        listed = self.cluster.get("applications.argoproj.io", f"--namespace={gitops.NAMESPACE}")
        return {each["metadata"]["name"]: each for each in listed["items"]}

    def application(self, name: str) -> dict[str, Any]:
        return self.applications().get(name, {})

    def job(self, name: str) -> dict[str, Any]:
        found = self.cluster.get("trainjobs", "--namespace=training")["items"]
        return next((each for each in found if each["metadata"]["name"] == name), {})

    def condition(self, name: str) -> str:
        conditions = self.job(name).get("status", {}).get("conditions", [])
        return next((each["type"] for each in conditions if each["status"] == "True" and each["type"] in ("Complete", "Failed")), "")

    def pods(self, name: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.cluster.get("pods", "--namespace=training", f"--selector={JOBSET_NAME}={name}")["items"]
        return found

    def wait_trained(self, name: str) -> None:
        self.cluster.wait(f"{name} over", lambda: bool(self.condition(name)), WAIT)
        assert self.condition(name) == "Complete"

    def wait_running(self, name: str) -> None:
        """Until its script runs: tfrun itself, still starting, would miss the signal that ends it."""
        self.cluster.wait(f"{name} running", (self.cluster.lab.state / "checkpoints" / f"at-{name}").exists, WAIT)

    def wait_said(self, application: str, words: str) -> None:
        self.cluster.wait(f"{application}: {words}", lambda: words in gitops.state(self.application(application))[2], WAIT)

    def assert_at_rest(self, name: str) -> None:
        """Synced once, and nothing to do after Argo CD has read everything again."""
        application, mark = f"lab-run-{name}", "argocd.argoproj.io/refresh"
        for _ in range(2):
            self.cluster.kubectl("annotate", f"application/{application}", f"--namespace={gitops.NAMESPACE}", f"{mark}=hard")
            self.cluster.wait("compared again", lambda: mark not in self.application(application)["metadata"].get("annotations", {}), WAIT)
        status = self.application(application)["status"]
        assert status["sync"]["status"] == "Synced", status
        assert len(status["history"]) == 1
        assert status["operationState"]["phase"] == "Succeeded"
        assert status["operationState"].get("retryCount", 0) == 0


@pytest.fixture(scope="module")
def estate(cluster: Cluster, root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Estate]:
    """The estate without its runs, deployed by Argo CD. Afterwards no application is left, and what was deployed is."""
    folder = tmp_path_factory.mktemp("estate")
    for name in ("base", "overlays", "clusters"):
        shutil.copytree(root / name, folder / name, ignore=shutil.ignore_patterns("runs", "lab/lab", "modules", "__pycache__"))
    mine = Estate(folder=folder, cluster=cluster)
    mine.git("init", "--quiet")
    mine.git("add", "--all")
    mine.git("commit", "--quiet", "--message=the estate without runs")
    gitops.deploy(cluster.lab, Console(stderr=True), folder)
    yield mine
    mine.git("rm", "-r", "--quiet", "clusters")
    mine.git("checkout", "--quiet", mine.git("rev-list", "--max-parents=0", "HEAD").strip(), "--", "clusters")
    mine.push("no runs, and the cluster as it was")
    cluster.wait("the cluster as it was", lambda: not gitops.not_deployed(cluster.lab), WAIT)
    here = f"--namespace={gitops.NAMESPACE}"
    controllers = ("argocd-application-controller", "argocd-applicationset-controller")
    workloads = [f"statefulset/{controllers[0]}", f"deployment/{controllers[1]}"]
    cluster.kubectl("scale", *workloads, here, "--replicas=0")  # they would make again what goes, and delete what it deployed
    cluster.kubectl(
        "wait", "pods", here, f"--selector=app.kubernetes.io/name in ({','.join(controllers)})", "--for=delete", "--timeout=120s"
    )
    for name in mine.applications():
        cluster.kubectl("patch", "application", name, here, "--type=merge", '--patch={"metadata": {"finalizers": null}}')
    cluster.kubectl("delete", "applicationsets.argoproj.io,applications.argoproj.io,appprojects.argoproj.io", "--all", here)
    cluster.kubectl("scale", *workloads, here, "--replicas=1")


@pytest.fixture(autouse=True)
def nothing_left(estate: Estate) -> Iterator[None]:
    """Each test begins without runs."""
    yield
    if (runs := estate.folder / "clusters" / "lab" / "runs").exists():
        shutil.rmtree(runs)
        estate.push("no runs")
    here = ["--namespace=" + gitops.NAMESPACE, "--type=merge", '--patch={"status": {"operationState": {"phase": "Terminating"}}}']

    def gone() -> bool:
        left = [each for name, each in estate.applications().items() if "-run-" in name]
        for each in left:  # what `argocd app terminate-op` does: it would go by itself, but only after its last attempt
            if each["metadata"].get("deletionTimestamp") and each.get("operation"):
                with contextlib.suppress(subprocess.CalledProcessError):  # it has gone meanwhile
                    estate.cluster.kubectl("patch", "application", each["metadata"]["name"], *here)
        objects = ["get", "trainjobs,jobsets,pods", "--namespace=training", "--output=name"]
        return not left and not estate.cluster.kubectl(*objects).strip()

    estate.cluster.wait("no runs", gone, WAIT)
    for path in (estate.cluster.lab.state / "checkpoints").glob("[ag][to]-*"):
        path.unlink()


@pytest.mark.parametrize("runtime", [KUEUE, VOLCANO])
def test_a_pushed_run_trains_and_comes_to_rest(runtime: str, estate: Estate) -> None:
    estate.run("first", runtime=runtime, nodes=2)
    pushed = time.monotonic()
    estate.push("a run")
    estate.cluster.wait("its first pod", lambda: bool(estate.pods("first")), WAIT)
    first_pod = time.monotonic() - pushed
    estate.wait_trained("first")
    print(f"{runtime}: first pod {first_pod:.1f} s after the push, Complete after {time.monotonic() - pushed:.1f} s")
    estate.assert_at_rest("first")
    uid = estate.job("first")["metadata"]["uid"]
    estate.run("second", runtime=runtime)
    estate.push("another run")
    estate.wait_trained("second")
    assert estate.job("first")["metadata"]["uid"] == uid  # finished, and not run again by a later commit


def test_a_change_of_quota_starts_the_run_that_it_held(estate: Estate) -> None:
    queue = estate.folder / "clusters" / "lab" / "queues" / "cluster-queue.yaml"
    text = queue.read_text(encoding="utf-8")
    estate.run("big", nodes=5)
    estate.push("more than the quota")
    workloads = ["workloads.kueue.x-k8s.io", "--namespace=training"]
    estate.cluster.wait("held by Kueue", lambda: "insufficient" in json.dumps(estate.cluster.get(*workloads)), WAIT)
    assert not estate.pods("big")
    queue.write_text(text.replace('nvidia.com/gpu, nominalQuota: "4"', 'nvidia.com/gpu, nominalQuota: "8"'), encoding="utf-8")
    estate.push("a larger quota")
    estate.wait_trained("big")
    queue.write_text(text, encoding="utf-8")
    estate.push("the quota as it was")


def test_a_runtime_and_its_run_come_in_one_push(estate: Estate) -> None:
    runtimes = estate.folder / "clusters" / "lab" / "runtimes"
    built = estate.cluster.get("clustertrainingruntime", KUEUE)
    new = {
        "apiVersion": built["apiVersion"],
        "kind": built["kind"],
        "metadata": {"name": "one-more", "labels": {"trainer.kubeflow.org/framework": "tensorflow"}},
        "spec": built["spec"],
    }
    estate.write("clusters/lab/runtimes/one-more.yaml", new)
    file = runtimes / "kustomization.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("- network.yaml\n", "- network.yaml\n- one-more.yaml\n"), encoding="utf-8")
    estate.run("on-new-runtime", runtime="one-more")
    estate.push("a runtime and a run of it")
    estate.wait_trained("on-new-runtime")
    file.write_text(text, encoding="utf-8")
    (runtimes / "one-more.yaml").unlink()


def test_a_broken_run_says_why_and_harms_no_other(estate: Estate) -> None:
    folder = estate.run("unknown-field")
    job = yaml.safe_load((folder / "trainjob.yaml").read_text(encoding="utf-8"))
    job["spec"]["trainer"]["replicas"] = 2
    (folder / "trainjob.yaml").write_text(yaml.safe_dump(job), encoding="utf-8")
    estate.write("clusters/lab/runs/does-not-build/kustomization.yaml", {"resources": ["missing.yaml"]})
    estate.run("sound")
    estate.push("two broken runs and a sound one")
    estate.wait_trained("sound")
    estate.wait_said("lab-run-unknown-field", "replicas")
    estate.wait_said("lab-run-does-not-build", "missing.yaml")
    assert gitops.state(estate.application("lab-queues"))[:2] == ("Synced", "Healthy")


def test_an_edited_run_goes_on_as_it_was(estate: Estate) -> None:
    file = estate.run("edited", gated=True) / "trainjob.yaml"
    estate.push("a run")
    estate.wait_running("edited")
    uid, text = estate.job("edited")["metadata"]["uid"], file.read_text(encoding="utf-8")
    file.write_text(text.replace("numNodes: 1", "numNodes: 2"), encoding="utf-8")
    estate.push("an edit of a run")
    estate.wait_said("lab-run-edited", "field is immutable")
    file.write_text(text, encoding="utf-8")
    estate.push("not edited after all")
    estate.cluster.wait("synced again", lambda: gitops.state(estate.application("lab-run-edited"))[::2] == ("Synced", ""), WAIT)
    estate.release("edited")
    estate.wait_trained("edited")
    assert estate.job("edited")["metadata"]["uid"] == uid
    assert estate.job("edited")["spec"]["trainer"]["numNodes"] == 1


FORBIDDEN: dict[str, dict[str, Any]] = {
    "another-kind": {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "more", "namespace": "training"}},
    "another-namespace": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "more", "namespace": "default"}},
    "cluster-wide": {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "more"}},
}


def test_the_training_project_denies_what_a_run_may_not_hold(estate: Estate) -> None:
    for name, manifest in FORBIDDEN.items():
        folder = estate.run(name).relative_to(estate.folder)
        estate.write(f"{folder}/more.yaml", manifest)
        estate.write(f"{folder}/kustomization.yaml", {"resources": ["code.yaml", "trainjob.yaml", "more.yaml"]})
    estate.push("runs that want more")
    for name, manifest in FORBIDDEN.items():
        estate.wait_said(f"lab-run-{name}", "not permitted")
        namespace = manifest["metadata"].get("namespace", "default")
        words = ["get", manifest["kind"], "more", f"--namespace={namespace}", "--ignore-not-found", "--output=name"]
        assert not estate.cluster.kubectl(*words).strip()


def test_removing_a_folder_stops_that_run_alone(estate: Estate) -> None:
    for name in ("stays", "goes"):
        estate.run(name, gated=True)
    estate.push("two runs")
    for name in ("stays", "goes"):
        estate.wait_running(name)
    shutil.rmtree(estate.folder / "clusters" / "lab" / "runs" / "goes")
    estate.push("one run less")
    estate.cluster.wait("it is gone", lambda: not estate.job("goes") and not estate.pods("goes"), WAIT)
    claim = estate.cluster.get("persistentvolumeclaim", "checkpoints", "--namespace=training")
    assert claim["status"]["phase"] == "Bound"
    estate.release("stays")
    estate.wait_trained("stays")
    estate.assert_at_rest("stays")


def test_a_run_that_was_deleted_by_hand_is_made_again(estate: Estate) -> None:
    estate.run("deleted", gated=True)
    estate.push("a run")
    estate.wait_running("deleted")
    uid = estate.job("deleted")["metadata"]["uid"]
    estate.cluster.kubectl("delete", "trainjob", "deleted", "--namespace=training")
    estate.cluster.wait("made again", lambda: estate.job("deleted").get("metadata", {}).get("uid", uid) != uid, WAIT)
    estate.release("deleted")
    estate.wait_trained("deleted")


def test_a_run_outlasts_restarts_of_what_deployed_it(estate: Estate) -> None:
    estate.run("steady", gated=True)
    estate.push("a run")
    estate.wait_running("steady")
    uids = {pod["metadata"]["uid"] for pod in estate.pods("steady")}
    here = f"--namespace={gitops.NAMESPACE}"
    estate.cluster.kubectl("delete", "pods", "--all", here)
    engine.restart(estate.cluster.lab, "git-daemon")
    estate.run("later")
    estate.push("a run after the restart")
    estate.wait_trained("later")
    assert {pod["metadata"]["uid"] for pod in estate.pods("steady")} == uids
    estate.release("steady")
    estate.wait_trained("steady")
    estate.assert_at_rest("steady")


def test_a_second_cluster_comes_and_goes_with_its_folder(estate: Estate) -> None:
    lab, two = (estate.folder / "clusters" / name for name in ("lab", "two"))
    facts = yaml.safe_load((lab / "cluster.yaml").read_text(encoding="utf-8"))
    estate.write("clusters/two/cluster.yaml", facts | {"name": "two"})
    shutil.copytree(lab / "argocd", two / "argocd", ignore=shutil.ignore_patterns("root"))
    named = two / "argocd" / "facts" / "facts.yaml"
    named.write_text(named.read_text(encoding="utf-8").replace("name: lab", "name: two"), encoding="utf-8")
    estate.write("clusters/two/namespaces/kustomization.yaml", {"namespace": "training-two", "resources": ["../../../base/namespace"]})
    kustomization = {"resources": ["object.yaml"]}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    parts: dict[str, dict[str, Any]] = {
        "access": {**role, "metadata": {"name": "two-access"}, "rules": rules},
        "admission": {**role, "metadata": {"name": "two-admission"}, "rules": rules},
        "queues": {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "two"}},
        "runtimes": {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "two"}, "spec": {"weight": 1}},
        "storage": yaml.safe_load((estate.folder / "base" / "checkpoints" / "checkpoints.yaml").read_text(encoding="utf-8")),
    }
    parts["storage"]["metadata"]["namespace"] = "training-two"
    parts["storage"]["spec"] |= {"storageClassName": "none"}
    for name, manifest in parts.items():
        estate.write(f"clusters/two/{name}/kustomization.yaml", kustomization)
        estate.write(f"clusters/two/{name}/object.yaml", manifest)
    namespace = [
        {"target": {"kind": kind}, "patch": json.dumps([{"op": "replace", "path": path, "value": "training-two"}])}
        for kind, path in {
            "AppProject": "/spec/destinations/0/namespace",
            "Application": "/spec/destination/namespace",
            "ApplicationSet": "/spec/template/spec/destination/namespace",
        }.items()
    ]
    argocd = yaml.safe_load((two / "argocd" / "kustomization.yaml").read_text(encoding="utf-8"))
    estate.write("clusters/two/argocd/kustomization.yaml", argocd | {"patches": namespace})
    estate.push("a second cluster")
    applications = [f"two-{name}" for name in ("namespaces", *parts)]

    def deployed() -> bool:
        found = [gitops.state(estate.application(name)) for name in ("two", *applications)]
        return all(sync == "Synced" for sync, _, _ in found)

    estate.cluster.wait("its applications", deployed, WAIT)
    estate.git("revert", "--no-edit", "HEAD")
    gitops.push(estate.cluster.lab, estate.folder)
    gitops.refresh(estate.cluster.lab)
    estate.cluster.wait("they are gone", lambda: not any(name.startswith("two") for name in estate.applications()), WAIT)
    assert not estate.cluster.kubectl("get", "resourceflavor", "two", "--ignore-not-found", "--output=name").strip()
    assert estate.cluster.get("persistentvolumeclaim", "checkpoints", "--namespace=training-two")["metadata"]["name"] == "checkpoints"
    estate.cluster.kubectl("delete", "namespace", "training-two")
