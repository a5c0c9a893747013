"""Where a person has to edit: every way in which kustomize can bring a wrong value into an object.

The wrong value is always a number where the schema wants a string, marked by HERE in the file that sets it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import report

SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  namespace: default\ndata:\n  mode: plain\n"
RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata:
  name: torch
  labels: {trainer.kubeflow.org/framework: torch}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata:
            labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}
          spec:
            template:
              spec:
                containers:
                - name: helper
                  image: registry.example/helper:1
                - name: node
                  image: registry.example/torch:1
                  env:
                  - {name: FIRST, value: "1"}
                  - {name: MODE, value: plain}
"""
ENV = "/spec/template/spec/replicatedJobs/0/template/spec/template/spec/containers/1/env"

CASES: dict[str, dict[str, str]] = {
    "in a base, three layers down": {
        "kustomization.yaml": "resources: [middle]\nnamePrefix: a-\n",
        "middle/kustomization.yaml": "resources: [../base]\nnameSuffix: -b\nnamespace: team\n",
        "base/kustomization.yaml": "resources: [settings.yaml]\n",
        "base/settings.yaml": SETTINGS + "  size: 5 # HERE\n",
    },
    "in the second document of a file": {
        "kustomization.yaml": "resources: [all.yaml]\n",
        "all.yaml": SETTINGS.replace("name: settings", "name: other") + "---\n" + SETTINGS + "  size: 5 # HERE\n",
    },
    "in a list of a file": {
        "kustomization.yaml": "resources: [all.yaml]\n",
        "all.yaml": "apiVersion: v1\nkind: List\nitems:\n"
        + "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: one, namespace: default}\n  data: {a: b}\n"
        + "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: two, namespace: default}\n  data:\n    size: 5 # HERE\n",
    },
    "in a strategic patch of its own file": {
        "kustomization.yaml": "resources: [settings.yaml]\npatches:\n- path: patch.yaml\n",
        "settings.yaml": SETTINGS,
        "patch.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\ndata:\n  mode: 5 # HERE\n",
    },
    "in an inline strategic patch": {
        "kustomization.yaml": "resources: [settings.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: |\n    apiVersion: v1\n    kind: ConfigMap\n"
        "    metadata: {name: any}\n    data:\n      mode: 5 # HERE\n",
        "settings.yaml": SETTINGS,
    },
    "in the old field patchesStrategicMerge": {
        "kustomization.yaml": "resources: [settings.yaml]\npatchesStrategicMerge: [patch.yaml]\n",
        "settings.yaml": SETTINGS,
        "patch.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\ndata:\n  mode: 5 # HERE\n",
    },
    "in a JSON 6902 patch of its own file": {
        "kustomization.yaml": "resources: [runtime.yaml]\npatches:\n- path: patch.yaml\n  target: {kind: ClusterTrainingRuntime, name: torch}\n",
        "runtime.yaml": RUNTIME,
        "patch.yaml": f"- op: replace\n  path: {ENV}/1/value\n  value: 5 # HERE\n",
    },
    "in an inline JSON 6902 patch that appends": {
        "kustomization.yaml": "resources: [runtime.yaml]\npatches:\n- target: {kind: ClusterTrainingRuntime}\n  patch: |-\n    - op: test\n"
        f"      path: /kind\n      value: ClusterTrainingRuntime\n    - op: add\n      path: {ENV}/-\n      value:\n        name: NEW\n        value: 5 # HERE\n",
        "runtime.yaml": RUNTIME,
    },
    "in a base below a patch that moves the list": {
        "kustomization.yaml": "resources: [runtime.yaml]\npatches:\n- path: patch.yaml\n  target: {kind: ClusterTrainingRuntime}\n",
        "runtime.yaml": RUNTIME.replace("value: plain}", "value: 5} # HERE"),
        "patch.yaml": f"- op: add\n  path: {ENV}/0\n  value: {{name: ZERO, value: zero}}\n",
    },
    "in the last of two patches": {
        "kustomization.yaml": "resources: [settings.yaml]\npatches:\n- path: one.yaml\n- path: two.yaml\n",
        "settings.yaml": SETTINGS,
        "one.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\ndata:\n  mode: 4\n",
        "two.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\ndata:\n  mode: 5 # HERE\n",
    },
    "in a component": {
        "kustomization.yaml": "resources: [settings.yaml]\ncomponents: [component]\n",
        "settings.yaml": SETTINGS,
        "component/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- path: patch.yaml\n",
        "component/patch.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\ndata:\n  mode: 5 # HERE\n",
    },
    "in a component of a base, the name changed above": {
        "kustomization.yaml": "resources: [base]\nnamePrefix: eu-\npatches:\n- target: {kind: ConfigMap}\n"
        "  patch: |-\n    - {op: add, path: /data/other, value: fine}\n",
        "base/kustomization.yaml": "resources: [settings.yaml]\ncomponents: [../component]\n",
        "base/settings.yaml": SETTINGS,
        "component/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- path: patch.yaml\n"
        "  target: {kind: ConfigMap, name: settings}\n",
        "component/patch.yaml": "- op: replace\n  path: /data/mode\n  value: 5 # HERE\n",
    },
    "in the source of a replacement": {
        "kustomization.yaml": "resources: [settings.yaml, number.yaml]\nreplacements:\n- path: follow.yaml\n",
        "settings.yaml": SETTINGS,
        "number.yaml": "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: number, namespace: default}\nspec:\n  accessModes: [ReadWriteOnce]\n"
        "  resources:\n    requests:\n      storage: 5 # HERE\n",
        "follow.yaml": "source: {kind: PersistentVolumeClaim, name: number, fieldPath: spec.resources.requests.storage}\n"
        "targets:\n- select: {kind: ConfigMap, name: settings}\n  fieldPaths: [data.size]\n  options: {create: true}\n",
    },
    "in the object whose name holds another's": {
        "kustomization.yaml": "resources: [all.yaml]\n",
        "all.yaml": SETTINGS + "---\n" + SETTINGS.replace("name: settings", "name: settings-big") + "  size: 5 # HERE\n",
    },
    "in the other namespace": {
        "kustomization.yaml": "resources: [all.yaml]\n",
        "all.yaml": SETTINGS.replace("namespace: default", "namespace: other") + "---\n" + SETTINGS + "  size: 5 # HERE\n",
    },
    "in the replacement that selects the object": {
        "kustomization.yaml": "resources: [settings.yaml, other.yaml, one.yaml, two.yaml]\nreplacements:\n- path: follow.yaml\n",
        "settings.yaml": SETTINGS,
        "other.yaml": SETTINGS.replace("name: settings", "name: other"),
        "one.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: default}\ndata:\n  size: five\n",
        "two.yaml": "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: two, namespace: default}\nspec:\n"
        "  accessModes: [ReadWriteOnce]\n  resources:\n    requests:\n      storage: 5 # HERE\n",
        "follow.yaml": "- source: {kind: PersistentVolumeClaim, name: two, fieldPath: spec.resources.requests.storage}\n"
        "  targets:\n  - select: {kind: ConfigMap, name: settings}\n    fieldPaths: [data.size]\n    options: {create: true}\n"
        "- source: {kind: ConfigMap, name: one, fieldPath: data.size}\n"
        "  targets:\n  - select: {kind: ConfigMap, name: other}\n    fieldPaths: [data.size]\n    options: {create: true}\n",
    },
    "in one of several variants of a base": {
        "kustomization.yaml": "resources: [plain, marked]\n",
        "base/kustomization.yaml": "resources: [settings.yaml]\n",
        "base/settings.yaml": SETTINGS,
        "plain/kustomization.yaml": "resources: [../base]\nnamePrefix: a-\n",
        "marked/kustomization.yaml": "resources: [../base]\nnamePrefix: b-\npatches:\n- target: {kind: ConfigMap}\n  patch: |-\n"
        "    - op: add\n      path: /data/size\n      value: 5 # HERE\n",
    },
    "in an unknown field of a patch": {
        "kustomization.yaml": "resources: [settings.yaml]\npatches:\n- path: patch.yaml\n",
        "settings.yaml": SETTINGS,
        "patch.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\ndat: {a: b} # HERE\n",
    },
}


def write(folder: Path, files: dict[str, str]) -> str:
    """Writes the files and returns file:line of the mark."""
    place = ""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        for number, line in enumerate(text.splitlines(), 1):
            if "# HERE" in line:
                place = f"{name}:{number}"
    return place


@pytest.mark.parametrize("name", CASES)
def test_the_line_that_set_a_wrong_value(name: str, tmp_path: Path) -> None:
    (tmp_path / "clusters").mkdir()
    expected = write(tmp_path, CASES[name])
    status, document = report(tmp_path)
    assert status == 1, document["problems"]
    (finding,) = [each for each in document["findings"] if each["severity"] == "error"]
    assert (finding["rule"], f"{finding['file']}:{finding['line']}") == ("schema/valid", expected)


REMOVALS: dict[str, dict[str, str]] = {
    "never there: the nearest ancestor in the base": {
        "kustomization.yaml": "resources: [runtime.yaml]\n",
        "runtime.yaml": RUNTIME.replace(
            "            labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}\n", "            labels: {} # HERE\n"
        ),
    },
    "there, and null": {
        "kustomization.yaml": "resources: [middle]\n",
        "middle/kustomization.yaml": "resources: [runtime.yaml]\n",
        "middle/runtime.yaml": RUNTIME.replace(
            "            labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}\n", "            labels: # HERE\n"
        ),
    },
    "removed by an operation": {
        "kustomization.yaml": "resources: [runtime.yaml]\npatches:\n- path: patch.yaml\n  target: {kind: ClusterTrainingRuntime}\n",
        "runtime.yaml": RUNTIME,
        "patch.yaml": "- op: remove\n  path: /spec/template/spec/replicatedJobs/0/template/metadata/labels/trainer.kubeflow.org~1trainjob-ancestor-step # HERE\n",
    },
    "removed by a null in a strategic patch": {
        "kustomization.yaml": "resources: [settings.yaml, middle]\n",
        "settings.yaml": SETTINGS,
        "middle/kustomization.yaml": "resources: [runtime.yaml]\npatches:\n- path: patch.yaml\n",
        "middle/runtime.yaml": RUNTIME,
        "middle/patch.yaml": "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\nmetadata: {name: torch}\nspec:\n  template:\n    spec:\n"
        "      replicatedJobs: # the list is replaced\n      - name: node\n        template:\n          spec: # HERE\n            template:\n              spec:\n"
        "                containers: [{name: node, image: 'registry.example/torch:1'}]\n",
    },
}


@pytest.mark.parametrize("name", REMOVALS)
def test_the_line_that_lacks_or_removed_a_field(name: str, tmp_path: Path) -> None:
    (tmp_path / "clusters").mkdir()
    expected = write(tmp_path, REMOVALS[name])
    _, document = report(tmp_path)
    (finding,) = [finding for finding in document["findings"] if finding["rule"] == "trainer/ancestor-label"]
    assert finding["file"] == expected.rpartition(":")[0]
    if "strategic" not in name:
        assert f"{finding['file']}:{finding['line']}" == expected
    assert "(missing: spec.template.spec.replicatedJobs[0].template.metadata" in finding["message"]


def test_namespace_on_a_cluster_scoped_object_is_the_kustomization_s(tmp_path: Path) -> None:
    (tmp_path / "clusters").mkdir()
    write(tmp_path, {"kustomization.yaml": "resources: [runtime.yaml]\nnamespace: team\n", "runtime.yaml": RUNTIME})
    _, document = report(tmp_path)
    (finding,) = document["findings"]
    assert (finding["rule"], finding["file"], finding["line"]) == ("scope/cluster-scoped-without-namespace", "kustomization.yaml", 2)


def test_one_fault_in_a_base_is_one_finding_with_all_its_targets(estate: Path) -> None:
    runtime = estate / "base/runtime/runtime.yaml"
    runtime.write_text(runtime.read_text(encoding="utf-8").replace("backoffLimit: 0", "backoffLimit: 3"), encoding="utf-8")
    status, document = report(*sorted((estate / "overlays").glob("*-*")), estate / "clusters/lab")
    (finding,) = document["findings"]
    assert status == 1
    assert finding["file"] == "base/runtime/runtime.yaml"
    assert {"overlays/ib-kueue", "overlays/ib-volcano", "overlays/no-ib-kueue", "overlays/no-ib-volcano", "clusters/lab"} <= set(
        finding["targets"]
    )
    assert "clusters/lab/runs/reference-kueue" in finding["targets"], "the runs that it falls on"
