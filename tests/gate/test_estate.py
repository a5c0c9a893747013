"""What the repository promises of its own manifests, beyond what the gate demands of everybody."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gate import process, render, tools
from gate.model import Unit, get
from tests.command import gate, report
from tests.conftest import ROOT
from tests.edit import edit_file

OVERLAYS = sorted(path.name for path in (ROOT / "overlays").iterdir() if path.is_dir())
CLUSTERS = sorted(path.name for path in (ROOT / "clusters").iterdir() if path.is_dir())
RUNS = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("clusters/*/runs/*") if path.is_dir())
TEMPLATE = ("spec", "template", "spec", "replicatedJobs", 0, "template", "spec", "template")
NODE = (*TEMPLATE, "spec", "containers", 0)


def build(path: Path) -> list[dict[str, Any]]:
    """`kustomize build`, and nothing of the gate's."""
    text = process.run([tools.binary("kustomize"), "build", path], env=process.environment())
    return list(yaml.safe_load_all(text))


def one(objects: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    (found,) = [each for each in objects if each["kind"] == kind]
    return found


def env(container: dict[str, Any]) -> dict[str, str]:
    return {entry["name"]: entry.get("value", "") for entry in container["env"]}


@pytest.fixture(scope="module", params=OVERLAYS)
def overlay(request: pytest.FixtureRequest) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    yield request.param, build(ROOT / "overlays" / request.param)


def test_the_repository_passes_its_own_gate() -> None:
    status, document = report(ROOT / "overlays" / OVERLAYS[0], *(ROOT / "clusters" / name for name in CLUSTERS), ROOT / "training")
    assert (status, document["findings"], document["problems"]) == (0, [], [])


@pytest.mark.parametrize("path", [*(f"overlays/{name}" for name in OVERLAYS), *RUNS])
def test_what_kustomize_builds_is_what_the_gate_renders(path: str) -> None:
    rendered = render.render(Unit(path=ROOT / path, kustomization=True))
    canonical = lambda manifests: sorted(json.dumps(manifest, sort_keys=True) for manifest in manifests)  # noqa: E731
    assert rendered.problems == []
    assert canonical(resource.manifest for resource in rendered.resources) == canonical(build(ROOT / path))


def test_overlay_is_its_runtime_and_its_trainjob(overlay: tuple[str, list[dict[str, Any]]]) -> None:
    name, whole = overlay
    parts = [*build(ROOT / "overlays" / name / "runtime"), *build(ROOT / "overlays" / name / "trainjob")]
    assert sorted(map(str, parts)) == sorted(map(str, whole))
    assert one(whole, "TrainJob")["spec"]["runtimeRef"]["name"] == one(whole, "ClusterTrainingRuntime")["metadata"]["name"]
    assert "namespace" not in one(whole, "ClusterTrainingRuntime")["metadata"]


def test_runtime_restarts_all_workers_or_none(overlay: tuple[str, list[dict[str, Any]]]) -> None:
    runtime = one(overlay[1], "ClusterTrainingRuntime")
    jobset = runtime["spec"]["template"]["spec"]
    assert runtime["metadata"]["labels"]["trainer.kubeflow.org/framework"] == "tensorflow"
    assert runtime["spec"]["mlPolicy"] == {"numNodes": 2}
    assert jobset["network"] == {"publishNotReadyAddresses": True}
    assert jobset["failurePolicy"]["maxRestarts"] >= 1
    (job,) = jobset["replicatedJobs"]
    assert (job["name"], job["template"]["spec"]["backoffLimit"]) == ("node", 0)
    assert get(runtime, TEMPLATE)["spec"]["restartPolicy"] == "Never"
    assert get(runtime, TEMPLATE)["spec"]["terminationGracePeriodSeconds"] >= 120


def test_environment_defaults_can_be_overridden(overlay: tuple[str, list[dict[str, Any]]]) -> None:
    container = get(one(overlay[1], "ClusterTrainingRuntime"), NODE)
    assert container["image"] == "nvcr.io/nvidia/tensorflow:24.03-tf2-py3"
    expected = {"TF_WORKER_PORT": "12345", "EPOCHS": "10", "BATCH_SIZE": "64", "NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,NET,IB"}
    assert expected.items() <= env(container).items()
    sources = {entry["name"]: get(entry, ("valueFrom", "fieldRef", "fieldPath")) for entry in container["env"] if "valueFrom" in entry}
    assert sources == {
        "TFRUN_NAMESPACE": "metadata.namespace",
        "TFRUN_JOB_UID": "metadata.labels['jobset.sigs.k8s.io/jobset-uid']",
        "TFRUN_ATTEMPT": "metadata.labels['jobset.sigs.k8s.io/restart-attempt']",
    }


def test_infiniband_is_complete_or_absent(overlay: tuple[str, list[dict[str, Any]]]) -> None:
    name, objects = overlay
    runtime = one(objects, "ClusterTrainingRuntime")
    container = get(runtime, NODE)
    wanted = name.startswith("ib-")
    assert runtime["metadata"]["name"].endswith("-ib") is wanted
    assert env(container)["NCCL_IB_DISABLE"] == ("0" if wanted else "1")
    assert get(runtime, (*TEMPLATE, "metadata", "annotations", "k8s.v1.cni.cncf.io/networks")) == ("hostdevice-net" if wanted else None)
    for which in ("requests", "limits"):
        assert container["resources"][which].get("nvidia.com/hostdev") == ("2" if wanted else None)
        assert container["resources"][which]["nvidia.com/gpu"] == "8"


def test_pods_have_the_least_privilege(overlay: tuple[str, list[dict[str, Any]]]) -> None:
    name, objects = overlay
    runtime = one(objects, "ClusterTrainingRuntime")
    pod, container = get(runtime, TEMPLATE)["spec"], get(runtime, NODE)
    fabric = name.startswith("ib-")
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert (pod["securityContext"]["runAsUser"] == 0) is fabric
    assert pod["securityContext"]["runAsNonRoot"] is not fabric
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"], **({"add": ["IPC_LOCK"]} if fabric else {})}
    assert all(container["resources"]["requests"][key] == value for key, value in container["resources"]["limits"].items())
    data = next(volume for volume in pod["volumes"] if "hostPath" in volume)
    assert data["hostPath"] == {"path": "/home/ubuntu/cifar-10-batches-py", "type": "Directory"}
    mounts = {mount["name"]: mount for mount in container["volumeMounts"]}
    assert mounts[data["name"]] == {"name": data["name"], "mountPath": "/workspace/data/cifar-10-batches-py", "readOnly": True}


def test_queueing(overlay: tuple[str, list[dict[str, Any]]]) -> None:
    name, objects = overlay
    runtime, job = one(objects, "ClusterTrainingRuntime"), one(objects, "TrainJob")
    label = get(job, ("metadata", "labels", "kueue.x-k8s.io/queue-name"))
    if name.endswith("-kueue"):
        assert label == "training"
        assert "kueue.x-k8s.io" not in json.dumps(runtime)
        assert "podGroupPolicy" not in runtime["spec"]
    else:
        assert label is None
        assert runtime["spec"]["podGroupPolicy"] == {"volcano": {}}
        assert get(runtime, (*TEMPLATE, "spec", "schedulerName")) == "volcano"
        assert runtime["spec"]["template"]["metadata"]["annotations"] == {"scheduling.volcano.sh/queue-name": "training"}
        assert runtime["metadata"]["name"].startswith("tensorflow-distributed-volcano")


def test_names_follow_whatever_builds_on_an_overlay(overlay: tuple[str, list[dict[str, Any]]], estate: Path) -> None:
    outer = estate / "outer"
    outer.mkdir()
    (outer / "kustomization.yaml").write_text(
        f"resources: [../overlays/{overlay[0]}]\nnamePrefix: eu-\nnameSuffix: -x\n"
        "images: [{name: nvcr.io/nvidia/tensorflow, newTag: 24.12-tf2-py3}]\n"
        "patches:\n- target: {kind: TrainJob}\n  patch: |-\n"
        "    - {op: add, path: /spec/trainer/image, value: 'nvcr.io/nvidia/tensorflow:24.03-tf2-py3'}\n",
        encoding="utf-8",
    )
    objects = build(outer)
    job, runtime, code = (one(objects, kind) for kind in ("TrainJob", "ClusterTrainingRuntime", "ConfigMap"))
    assert job["spec"]["runtimeRef"]["name"] == runtime["metadata"]["name"]
    assert runtime["metadata"]["name"].startswith("eu-") and runtime["metadata"]["name"].endswith("-x")
    assert "namespace" not in runtime["metadata"]
    assert job["spec"]["trainer"]["image"] == get(runtime, (*NODE, "image")) == "nvcr.io/nvidia/tensorflow:24.12-tf2-py3"
    assert f'"name": "{code["metadata"]["name"]}"' in json.dumps(job["spec"]["runtimePatches"])


@pytest.mark.parametrize("component", ["data-claim", "kueue-topology", "volcano-topology"])
def test_components_that_no_overlay_uses_build(component: str, estate: Path) -> None:
    outer = estate / "outer"
    outer.mkdir()
    used = ["checkpoints", "volcano", component] if component == "volcano-topology" else ["checkpoints", component]
    text = yaml.safe_dump({"resources": ["../base/runtime"], "components": [f"../base/components/{name}" for name in used]})
    (outer / "kustomization.yaml").write_text(text, encoding="utf-8")
    status, document = report(outer)
    assert (status, document["findings"]) == (0, [])


@pytest.mark.parametrize("run", RUNS)
def test_a_run_is_frozen(run: str, estate: Path) -> None:
    """Whatever changes in base, overlays or training/, a run renders the same."""
    before = build(estate / run)
    edit_file(estate / "base/runtime/runtime.yaml", {"replace": "backoffLimit: 0", "with": "backoffLimit: 7"})
    for file in (estate / "training").glob("*.py"):
        file.write_text("# changed\n", encoding="utf-8")
    for name in ("base", "overlays", "training"):
        for file in (estate / name).rglob("*.yaml"):
            file.write_text(file.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    render.build.cache_clear()
    assert build(estate / run) == before


@pytest.mark.parametrize("run", RUNS)
def test_a_run_owns_its_code(run: str) -> None:
    objects = build(ROOT / run)
    job, code = one(objects, "TrainJob"), one(objects, "ConfigMap")
    name = Path(run).name
    assert job["metadata"]["name"] == code["metadata"]["name"] == name
    assert code["immutable"] is True
    assert {"tfrun.py"} < set(code["data"])
    assert len(json.dumps(code["data"])) < 1_000_000
    assert env({"env": job["spec"]["trainer"]["env"]})["TF_NUM_WORKERS"] == str(job["spec"]["trainer"]["numNodes"])


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_claims_and_namespaces_survive_argo_cd(cluster: str) -> None:
    kept = []
    for folder in ("storage", "namespaces"):
        for each in build(ROOT / "clusters" / cluster / folder):
            if each["kind"] in ("PersistentVolumeClaim", "Namespace"):
                kept.append(each["kind"])
                options = each["metadata"]["annotations"]["argocd.argoproj.io/sync-options"].split(",")
                assert {"Prune=false", "Delete=false"} <= set(options)
    assert sorted(set(kept)) == ["Namespace", "PersistentVolumeClaim"]


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_pod_security_is_privileged_only_where_it_has_to_be(cluster: str) -> None:
    text = json.dumps(build(ROOT / "clusters" / cluster / "runtimes"))
    above = '"hostPath"' in text or "IPC_LOCK" in text
    for each in build(ROOT / "clusters" / cluster / "namespaces"):
        labels = each["metadata"]["labels"]
        runs = labels.get("training.gitops/runs") == "true"
        assert labels["pod-security.kubernetes.io/enforce"] == ("privileged" if runs and above else "restricted")


def test_every_overlay_has_a_cluster_of_its_own() -> None:
    names = {one(build(ROOT / "overlays" / name / "runtime"), "ClusterTrainingRuntime")["metadata"]["name"]: name for name in OVERLAYS}
    offered = [each["metadata"]["name"] for name in CLUSTERS if name != "lab" for each in build(ROOT / "clusters" / name / "runtimes")]
    assert sorted(names[each] for each in offered if each in names) == OVERLAYS


def test_every_overlay_has_its_run_in_the_lab() -> None:
    used = {one(build(path), "TrainJob")["spec"]["runtimeRef"]["name"] for path in (ROOT / "clusters/lab/runs").iterdir()}
    offered = {each["metadata"]["name"] for each in build(ROOT / "clusters/lab/runtimes")}
    assert used == offered
    assert len(offered) == len(OVERLAYS)


def test_effective_prints_the_jobset_of_each_run() -> None:
    result = gate("effective", ROOT / "clusters/lab/runs/more-nodes")
    (jobset,) = yaml.safe_load_all(result.stdout)
    job = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]
    assert (job["parallelism"], job["completions"]) == (4, 4)
    assert env(job["template"]["spec"]["containers"][0])["NCCL_DEBUG"] == "WARN"


def test_kustomize_alone_is_enough(tmp_path: Path) -> None:
    """The overlays need no flag, no environment and nothing of the gate."""
    done = subprocess.run(
        [tools.binary("kustomize"), "build", ROOT / "overlays/ib-volcano"], env={}, cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_gate_knows_how_long_tfrun_waits() -> None:
    rule = (ROOT / "policies/rules/nodes/provisioned_in_time.rego").read_text(encoding="utf-8")
    tfrun = (ROOT / "training/tfrun.py").read_text(encoding="utf-8")
    (known,) = re.findall(r"^default_seconds := (\d+)", rule, re.MULTILINE)
    assert re.findall(r'number\("TF_DISCOVERY_TIMEOUT", (\d+),', tfrun) == [known]
