"""Runtimes of one's own beside Trainer's: what its webhook looks at, and what the installer of its Helm chart does to them."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest
import yaml

from gate.evaluate import Evaluator
from lab import binaries, gitops
from tests.lab.conftest import Cluster, present
from tests.lab.live import Manifest, Namespace
from tests.lab.test_argocd_claims import commit, placed, write
from tests.lab.test_gate_and_cluster import REFUSED, Fault, accepted, made, refusal
from tests.lab.test_roles import found

TRAINER = binaries.modules()["trainer"].sources
SHIPPED = "jax-distributed"
MANAGED = "trainer.kubeflow.org/managed-by"
UNSEEN = "trainer.kubeflow.org/webhook-validation"
SAYS = "must contain the required container for the ancestor: trainer"
APK = "#!/bin/sh\ntest \"$*\" = 'add --no-cache kubectl'  # which the image has\n"
pytestmark = pytest.mark.lab


def runtime(name: str, **labels: str) -> Manifest:
    """The repository's runtime under another name."""
    manifest = made("own", "somewhere", of=Fault(rules=set()))[0]
    manifest["metadata"]["name"] = name
    manifest["metadata"]["labels"] |= labels
    return manifest


def test_a_label_keeps_the_webhook_away(namespace: Namespace, tmp_path: Path, opa: Evaluator) -> None:
    refused, run, code = made("no-node", namespace.name, of=REFUSED["no-node"])
    assert SAYS in refusal(namespace.cluster, [refused])
    before = found([refused], tmp_path / "before.yaml", opa)
    refused["metadata"]["labels"][UNSEEN] = "disabled"
    assert found([refused], tmp_path / "after.yaml", opa) - before == {"trainer/own-runtime"}
    del run["spec"]["runtimePatches"]
    with present(namespace.cluster, refused):
        assert accepted(namespace.cluster, [run, code]) == ""
        namespace.apply(run, code)
        namespace.wait("the JobSet", lambda: bool(namespace.items("jobsets")))
        [job] = namespace.jobset("no-node")["spec"]["replicatedJobs"]
        [container] = job["template"]["spec"]["template"]["spec"]["containers"]
        assert "command" not in container  # what the TrainJob says has no place to go
        assert "TF_NUM_WORKERS" not in [each["name"] for each in container["env"]]


def test_the_webhook_sees_no_edit_of_a_runtime_of_a_namespace(namespace: Namespace) -> None:
    head = {"kind": "TrainingRuntime", "metadata": {"name": "edited", "namespace": namespace.name}}
    sound, refused = (made("no-node", namespace.name, sound=sound, of=REFUSED["no-node"])[0] | head for sound in (True, False))
    assert SAYS in refusal(namespace.cluster, [refused])
    namespace.apply(sound)
    namespace.apply(refused)
    [job] = namespace.get("trainingruntime", "edited")["spec"]["template"]["spec"]["replicatedJobs"]
    assert [each["name"] for each in job["template"]["spec"]["template"]["spec"]["containers"]] == ["tensorflow"]


def test_the_installer_of_the_chart_overwrites_and_deletes(namespace: Namespace, tmp_path: Path, opa: Evaluator) -> None:
    """Its own scripts, in a pod as the chart's, which may change only the runtimes of this test."""
    cluster, name = namespace.cluster, namespace.name
    assert SHIPPED not in named(cluster), "the test needs that name"
    labelled, taken, kept = runtime(f"{name}-labelled", **{MANAGED: "runtimes-installer"}), runtime(SHIPPED), runtime(f"{name}-kept")
    told = [found([each], tmp_path / f"{each['metadata']['name']}.yaml", opa) for each in (labelled, taken, kept)]
    assert told == [{"trainer/own-runtime"}, {"trainer/own-runtime"}, set()]
    with present(cluster, labelled, taken, kept, *rights(name, labelled["metadata"]["name"], SHIPPED)):
        namespace.apply(*needs(shipped()))
        untouched = cluster.get("clustertrainingruntime", kept["metadata"]["name"])
        end(namespace, "installer-job")
        assert {labelled["metadata"]["name"], SHIPPED, kept["metadata"]["name"]} & named(cluster) == {SHIPPED, kept["metadata"]["name"]}
        overwritten = cluster.get("clustertrainingruntime", SHIPPED)
        assert overwritten["metadata"]["labels"][MANAGED] == "runtimes-installer"
        assert overwritten["spec"]["mlPolicy"] == {"numNodes": 1, "jax": {}}
        end(namespace, "cleanup-job")
        assert SHIPPED not in named(cluster)
        assert cluster.get("clustertrainingruntime", kept["metadata"]["name"]) == untouched


def test_what_the_installer_applies_is_nothing_to_argo_cd(cluster: Cluster, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The Jobs are hooks as the chart's; the ConfigMap of its own beside them shows that Argo CD has looked, and does what it can."""
    one, other = names = ("test-installed-one", "test-installed-other")
    given = "---\n".join(shipped().replace(f"name: {SHIPPED}\n", f"name: {each}\n") for each in names)
    jobs = [hook(cluster, each) for each in ("installer-job", "cleanup-job")]
    write(tmp_path / "chart/all.yaml", yaml.safe_dump_all([*needs(given), *jobs]))
    commit(tmp_path)

    def left() -> list[str]:
        return [each for each in names if each in named(cluster)]

    with placed(cluster, request, tmp_path) as place, present(cluster, *rights(place.namespace.name, *names)):
        kind = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime"}
        place.made.extend({**kind, "metadata": {"name": each}} for each in names)
        automated = {"automated": {"prune": True, "selfHeal": True}, "syncOptions": ["ServerSideApply=true"]}
        place.deploy("chart", path="chart", policy=automated)
        place.wait_ended("chart", "Succeeded")
        place.wait_sync("chart", "Synced")
        done = place.status("chart")["operationState"]["syncResult"]["resources"]
        assert [(each["name"], each["hookType"]) for each in done if "hookType" in each] == [("installer-job", "PostSync")]
        assert left() == [one, other]
        shown = {each["name"] for each in place.status("chart")["resources"]}
        assert shown == {each["metadata"]["name"] for each in needs(given)}

        cluster.kubectl("delete", "clustertrainingruntime", one)
        place.namespace.kubectl("delete", "configmap", "manifests")
        place.namespace.wait(
            "the ConfigMap again", lambda: bool(place.namespace.items("configmaps", "--field-selector=metadata.name=manifests"))
        )
        place.wait_ended("chart", "Succeeded")
        place.wait_sync("chart", "Synced")
        assert left() == [other]

        where = (f"application/{place.namespace.name}-chart", f"--namespace={gitops.NAMESPACE}")
        cascade = '--patch={"metadata": {"finalizers": ["resources-finalizer.argocd.argoproj.io"]}}'
        cluster.kubectl("patch", *where, "--type=merge", cascade)
        cluster.kubectl("delete", *where)
        assert not place.namespace.items("configmaps", "--field-selector=metadata.name=manifests")
        assert left() == [other]


@pytest.mark.parametrize("enabled", [True, False])
def test_the_gate_warns_of_runtimes_that_argo_cd_does_not_see(enabled: bool, tmp_path: Path, opa: Evaluator) -> None:
    chart = {"repoURL": "ghcr.io/kubeflow/charts", "chart": "kubeflow-trainer", "targetRevision": binaries.modules()["trainer"].version}
    source = {**chart, "helm": {"valuesObject": {"runtimes": {"defaultEnabled": enabled}}}}
    spec = {"project": "platform", "source": source, "destination": {"name": "in-cluster", "namespace": "kubeflow-system"}}
    application = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "trainer", "namespace": "argocd"},
        "spec": spec,
    }
    assert ("trainer/own-runtime" in found([application, runtime("kept")], tmp_path / "application.yaml", opa)) == enabled


def needs(runtimes: str) -> list[Manifest]:
    """What a Job of the chart needs beside rights, to apply these runtimes."""
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "installer"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "tools"}, "data": {"apk": APK}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "manifests"}, "data": {"runtimes.yaml": runtimes}},
    ]


def shipped() -> str:
    """The runtime that the installer is given, as Trainer's own kustomization has it."""
    return (TRAINER() / "manifests/base/runtimes/jax_distributed.yaml").read_text(encoding="utf-8")


def template(job: str) -> str:
    """A Job of the chart."""
    return (TRAINER() / f"charts/kubeflow-trainer/templates/runtimes/{job}.yaml").read_text(encoding="utf-8")


def script(job: str) -> str:
    """What a Job of the chart runs."""
    [(_, block)] = re.findall(r"- -c\n( +)- \|\n((?:\1  .*\n)+)", template(job))
    assert "kubectl" in block
    assert "{{" not in block
    return textwrap.dedent(block)


def hook(cluster: Cluster, job: str) -> Manifest:
    """A Job of the chart, run when the chart says."""
    annotations = dict(re.findall(r'^    "(helm\.sh/[a-z-]+)": (.+)$', template(job), re.MULTILINE))
    assert "helm.sh/hook" in annotations
    spec = {"template": {"spec": pod(cluster, job)}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": job, "annotations": annotations}, "spec": spec}


def rights(name: str, *runtimes: str) -> list[Manifest]:
    """Those that the chart gives its installer, for these runtimes only."""
    what = {"apiGroups": ["trainer.kubeflow.org"], "resources": ["clustertrainingruntimes"]}
    change = {"verbs": ["create", "update", "patch", "delete"], "resourceNames": list(runtimes)}
    rules = [{**what, "verbs": ["get", "list"]}, {**what, **change}]
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": f"{name}-installer"}}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"{name}-installer"}
    subject = {"kind": "ServiceAccount", "name": "installer", "namespace": name}
    return [
        {**head, "kind": "ClusterRole", "rules": rules},
        {**head, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": [subject]},
    ]


def pod(cluster: Cluster, job: str) -> Manifest:
    """The spec of a pod that runs the script of a Job of the chart, in an image that has kubectl."""
    admission = cluster.get("deployment", "volcano-admission", "--namespace=volcano-system")
    [container] = admission["spec"]["template"]["spec"]["containers"]
    mounts = [{"name": each, "mountPath": f"/{each}"} for each in ("manifests", "tools")]
    volumes = [{"name": each, "configMap": {"name": each, "defaultMode": 0o555}} for each in ("manifests", "tools")]
    made = {
        "name": "main",
        "image": container["image"],
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", script(job)],
        "env": [{"name": "PATH", "value": "/tools:/usr/local/bin:/usr/bin:/bin"}, {"name": "HOME", "value": "/tmp"}],
        "volumeMounts": mounts,
    }
    return {"serviceAccountName": "installer", "restartPolicy": "Never", "containers": [made], "volumes": volumes}


def end(namespace: Namespace, job: str) -> None:
    """Runs the script of a Job of the chart, to its good end."""
    namespace.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": job}, "spec": pod(namespace.cluster, job)})
    namespace.wait(f"{job} ended", lambda: namespace.get("pod", job)["status"]["phase"] in ("Succeeded", "Failed"))
    assert namespace.get("pod", job)["status"]["phase"] == "Succeeded", namespace.kubectl("logs", job)


def named(cluster: Cluster) -> set[str]:
    """The ClusterTrainingRuntimes that are there."""
    return {each["metadata"]["name"] for each in cluster.get("clustertrainingruntimes")["items"]}
