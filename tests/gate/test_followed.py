"""What kustomize does to custom resources without saying so is found where it is written."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from gate import check, followed, render
from gate.evaluate import Evaluator
from gate.model import Finding, get
from tests.edit import line_of

RUN = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: night, namespace: owls}
spec:
  runtimeRef: {name: tf-owls}
  trainer:
    numNodes: 2
    image: registry.example/tensorflow:2.14
    env:
    - {name: TF_NUM_WORKERS, value: "2"}
    - {name: EPOCHS, value: "3"}
"""
# A run whose name has that of the other in it.
OTHER = RUN.replace("name: night,", "name: night-long,").replace("EPOCHS", "SEED")
PATCH = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: night, namespace: owls}
spec:
  trainer:
    env:
"""
LOST = (
    "the strategic-merge patch replaces the list spec.trainer.env of TrainJob/owls/night, and what it does not repeat is lost: "
    "TF_NUM_WORKERS, EPOCHS"
)
OLD = "registry.example/tensorflow:2.14"
DIGEST = "sha256:" + "0" * 64
# An entry of `images:` and what kustomize makes of the image with it.
ENTRIES = {
    '{name: registry.example/tensorflow, newTag: "2.15"}': "registry.example/tensorflow:2.15",
    f"{{name: registry.example/tensorflow, digest: '{DIGEST}'}}": f"registry.example/tensorflow@{DIGEST}",
    "{name: registry.example/tensorflow, newName: mirror.example/tf, newTag: r9}": "mirror.example/tf:r9",
    "{name: registry.example/tensorflow, newName: mirror.example:5000/tf}": "mirror.example:5000/tf:2.14",
    "{name: registry.example/tensorflow, tagSuffix: -r3}": "registry.example/tensorflow:2.14-r3",
    "{name: 'registry.example/(tensorflow|torch)', newTag: r4}": "registry.example/tensorflow:r4",
    "{name: '.*/tensor.*', newName: mirror.example/tf}": "mirror.example/tf:2.14",
}
OUTER = "patches: [{path: p.yaml, target: {kind: TrainJob}}]\n"
SET = "- {op: replace, path: /spec/trainer/image, value: 'registry.example/tensorflow:2.13'}\n"
IMAGES = f"images: [{next(iter(ENTRIES))}]\n"
TRANSFORMER = "apiVersion: builtin\nkind: ImageTagTransformer\nmetadata: {name: tag}\n"


def stale(wanted: str, image: str = OLD, by: str = "images") -> str:
    return f"the image is {image}, of which `{by}:` of the kustomization makes {wanted}: it does not reach a TrainJob"


class Found(NamedTuple):
    rule: str
    message: str
    file: str
    line: int


def judged(folder: Path, opa: Evaluator) -> list[Finding]:
    (folder / "clusters").mkdir()
    outcome = check.check(folder, check.targets(folder, [folder], None), evaluator=opa)
    assert outcome.problems == []
    return [finding for finding in outcome.findings if finding.rule in (followed.LISTS, followed.IMAGES)]


def found(folder: Path, kustomization: str, opa: Evaluator, *, resources: str = "run.yaml, other.yaml", **files: str) -> list[Found]:
    """Rule, message, file and line of what is found in a folder of two runs with a kustomization."""
    texts = {"run": RUN, "other": OTHER, "kustomization": f"resources: [{resources}]\n{kustomization}", **files}
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return [Found(each.rule, each.message, str(each.place.file.relative_to(folder)), each.place.line) for each in judged(folder, opa)]


@pytest.mark.parametrize("field", ["patches: [{path: p.yaml}]\n", "patchesStrategicMerge: [p.yaml]\n"])
def test_a_patch_that_loses_variables(field: str, tmp_path: Path, opa: Evaluator) -> None:
    faults = found(tmp_path, field, opa, p=PATCH + '    - {name: SEED, value: "7"}\n')
    assert faults == [("kustomize/lists-kept", LOST, "p.yaml", line_of(tmp_path / "p.yaml", "env:"))]


def test_a_patch_that_repeats_the_list(tmp_path: Path, opa: Evaluator) -> None:
    patch = PATCH + '    - {name: EPOCHS, value: "9"}\n    - {name: TF_NUM_WORKERS, value: "2"}\n    - {name: SEED, value: "7"}\n'
    assert found(tmp_path, "patches: [{path: p.yaml}]\n", opa, p=patch) == []


def test_a_json_patch_that_adds_to_the_list(tmp_path: Path, opa: Evaluator) -> None:
    patch = "- {op: add, path: /spec/trainer/env/-, value: {name: SEED, value: '7'}}\n"
    assert found(tmp_path, "patches: [{path: p.yaml, target: {kind: TrainJob, name: night}}]\n", opa, p=patch) == []


def layer(folder: Path, text: str, **files: str) -> None:
    folder.mkdir()
    for name, content in {"kustomization": text, **files}.items():
        (folder / f"{name}.yaml").write_text(content, encoding="utf-8")


ADD = "- {op: add, path: /spec/trainer/env/-, value: {name: SEED, value: '7'}}\n"
REMOVE = "- {op: remove, path: /spec/trainer/env/1}\n"
REPEATED = PATCH + '    - {name: TF_NUM_WORKERS, value: "2"}\n'


@pytest.mark.parametrize(("inner", "lost"), [(ADD, ["EPOCHS, SEED"]), (REMOVE, [])])
def test_a_patch_of_what_an_inner_patch_left(inner: str, lost: list[str], tmp_path: Path, opa: Evaluator) -> None:
    layer(tmp_path / "base", "resources: [run.yaml]\npatches: [{path: p.yaml, target: {kind: TrainJob}}]\n", run=RUN, p=inner)
    faults = found(tmp_path, "patches: [{path: p.yaml}]\n", opa, resources="base", p=REPEATED)
    assert [fault.message.rpartition(" is lost: ")[2] for fault in faults] == lost


def test_a_repeated_variable_that_a_later_patch_removes(tmp_path: Path, opa: Evaluator) -> None:
    patch = REPEATED + '    - {name: EPOCHS, value: "9"}\n'
    layer(tmp_path / "base", "resources: [run.yaml]\npatches: [{path: p.yaml}]\n", run=RUN, p=patch)
    assert found(tmp_path, OUTER, opa, resources="base", p=REMOVE) == []


@pytest.mark.parametrize("component", [True, False])
def test_a_patch_of_what_a_component_brings(component: bool, tmp_path: Path, opa: Evaluator) -> None:
    patches = "patches: [{path: p.yaml}]\n"
    header = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [run.yaml]\n"
    layer(tmp_path / "runs", header + (patches if component else ""), run=RUN, p=REPEATED)
    faults = found(tmp_path, "components: [runs]\n" + ("" if component else patches), opa, resources="other.yaml", p=REPEATED)
    assert [fault.message.rpartition(" is lost: ")[2] for fault in faults] == ["EPOCHS"]


QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: owls}
spec:
  resourceGroups:
"""
GROUP = "  - {coveredResources: [cpu, memory], flavors: [%s]}\n"
FLAVOR = "{name: %s, resources: [{name: cpu, nominalQuota: 9}, {name: memory, nominalQuota: 9Gi}]}"
ON_DEMAND, SPOT = FLAVOR % "on-demand", FLAVOR % "spot"
PATCHES = PATCH.replace("  trainer:\n    env:\n", "  runtimePatches:\n")
POD = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: tf-owls}
spec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: %s}}}}]}}}
"""
MOUNTS = "{containers: [{name: node, volumeMounts: [%s]}]}"
PORTS = "{containers: [{name: node, ports: [%s]}]}"
TOPOLOGY = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Topology\nmetadata: {name: owls}\nspec: {levels: [%s]}\n"
HYPERNODE = "apiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\nmetadata: {name: owls}\nspec: {tier: 1, members: [%s]}\n"
MEMBER = "{type: Node, selector: {exactMatch: {name: %s}}}"
# What a base has, a patch of it, and what is lost with the rule's severity.
ELEMENTS = {
    "a flavor": (QUEUE + GROUP % f"{ON_DEMAND}, {SPOT}", QUEUE + GROUP % SPOT, ("on-demand", "error")),
    "a flavor that goes to another group": (QUEUE + GROUP % f"{ON_DEMAND}, {SPOT}", QUEUE + GROUP % SPOT + GROUP % ON_DEMAND, None),
    "quotas": (QUEUE + GROUP % SPOT, QUEUE + GROUP % SPOT.replace("9", "12"), None),
    "a resource": (
        QUEUE + GROUP % SPOT,
        QUEUE + "  - {coveredResources: [cpu], flavors: [{name: spot, resources: [{name: cpu, nominalQuota: 9}]}]}\n",
        ("memory", "error"),
    ),
    "a cohort's flavor": (
        (QUEUE + GROUP % f"{ON_DEMAND}, {SPOT}").replace("ClusterQueue", "Cohort"),
        (QUEUE + GROUP % SPOT).replace("ClusterQueue", "Cohort"),
        ("on-demand", "error"),
    ),
    "a manager's patch": (
        RUN + "  runtimePatches: [{manager: a.example/x}]\n",
        PATCHES + "  - {manager: b.example/y}\n",
        ("a.example/x", "error"),
    ),
    "arguments": (RUN + "    args: [--fast]\n", PATCH.replace("    env:\n", "    args: [--slow]\n"), None),
    "a second mount of a volume": (
        POD % MOUNTS % "{name: data, mountPath: /data}, {name: data, mountPath: /cache}",
        POD % MOUNTS % "{name: data, mountPath: /data}",
        ("/cache", "error"),
    ),
    "a port": (POD % PORTS % "{containerPort: 1}, {containerPort: 2}", POD % PORTS % "{containerPort: 1}", ("2 TCP", "error")),
    "a port's protocol": (POD % PORTS % "{containerPort: 1}", POD % PORTS % "{containerPort: 1, protocol: TCP}", None),
    "a toleration": (POD % "{tolerations: [{key: gpu}]}", POD % "{tolerations: [{key: spot}]}", ("gpu", "warning")),
    "a toleration's value": (POD % "{tolerations: [{key: gpu}]}", POD % "{tolerations: [{key: gpu, value: a}]}", None),
    "a level": (TOPOLOGY % "{nodeLabel: rack}, {nodeLabel: host}", TOPOLOGY % "{nodeLabel: host}", ("rack", "warning")),
    "a member": (HYPERNODE % (MEMBER % "n1"), HYPERNODE % (MEMBER % "n2"), ("n1", "warning")),
}


@pytest.mark.parametrize(("before", "patch", "lost"), ELEMENTS.values(), ids=ELEMENTS)
def test_a_patch_that_loses_elements(before: str, patch: str, lost: tuple[str, str] | None, tmp_path: Path, opa: Evaluator) -> None:
    files = {"base.yaml": before, "p.yaml": patch, "kustomization.yaml": "resources: [base.yaml]\npatches: [{path: p.yaml}]\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    faults = judged(tmp_path, opa)
    said = [(fault.message.rpartition(" is lost: ")[2], fault.severity) for fault in faults]
    assert said == ([lost] if lost else [])
    assert {fault.place.file for fault in faults} <= {tmp_path / "p.yaml"}


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_image_that_is_not_reached(entry: str, tmp_path: Path, opa: Evaluator) -> None:
    faults = found(tmp_path, f"images: [{entry}]\n", opa)
    message = stale(ENTRIES[entry])
    assert faults == [
        ("kustomize/images-followed", message, "other.yaml", line_of(tmp_path / "other.yaml", "image:")),
        ("kustomize/images-followed", message, "run.yaml", line_of(tmp_path / "run.yaml", "image:")),
    ]


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_image_that_a_configuration_reaches(entry: str, tmp_path: Path, opa: Evaluator) -> None:
    known = "configurations: [follow.yaml]\n"
    assert found(tmp_path, f"images: [{entry}]\n" + known, opa, follow="images: [{path: spec/trainer/image, kind: TrainJob}]\n") == []
    rendered = render.build(tmp_path)
    assert [get(run, ("spec", "trainer", "image")) for run in rendered] == [ENTRIES[entry]] * 2


@pytest.mark.parametrize("specs", ["", "fieldSpecs: [{path: spec/trainer/image, kind: TrainJob}]\n"])
def test_an_image_and_a_transformer_in_a_file(specs: str, tmp_path: Path, opa: Evaluator) -> None:
    transformer = TRANSFORMER + f"imageTag: {next(iter(ENTRIES))}\n" + specs
    faults = found(tmp_path, "transformers: [tag.yaml]\n", opa, tag=transformer)
    message = stale("registry.example/tensorflow:2.15", by="transformers")
    assert [fault.message for fault in faults] == ([] if specs else [message, message])


@pytest.mark.parametrize("name", ["registry.example/tools", "registry.example/tensor", "tensorflow", "registry[.]example/tools.*"])
def test_an_image_of_another_name(name: str, tmp_path: Path, opa: Evaluator) -> None:
    assert found(tmp_path, f"images: [{{name: '{name}', newTag: '2.15'}}]\n", opa) == []


def test_an_image_that_entries_rename_in_turn(tmp_path: Path, opa: Evaluator) -> None:
    faults = found(tmp_path, "images: [{name: registry.example/tensorflow, newName: a}, {name: a, newTag: '3'}]\n", opa)
    assert {fault.message for fault in faults} == {stale("a:3")}


@pytest.mark.parametrize("patched", [True, False])
def test_an_image_that_a_layer_further_out_sets(patched: bool, tmp_path: Path, opa: Evaluator) -> None:
    """What `images:` of a base does not reach, against what an overlay writes on purpose."""
    layer(tmp_path / "base", "resources: [run.yaml]\n" + IMAGES, run=RUN)
    faults = found(tmp_path, OUTER if patched else "", opa, resources="base", p=SET)
    assert [fault[1:3] for fault in faults] == ([] if patched else [(stale("registry.example/tensorflow:2.15"), "base/run.yaml")])


def test_an_image_beside_the_base_that_rewrites_images(tmp_path: Path, opa: Evaluator) -> None:
    layer(tmp_path / "base", "resources: [run.yaml]\n" + IMAGES, run=RUN.replace("night", "day").replace("registry.example", "elsewhere"))
    assert found(tmp_path, "", opa, resources="base, run.yaml, other.yaml") == []


@pytest.mark.parametrize("patched", [True, False])
def test_an_image_that_a_component_does_not_reach(patched: bool, tmp_path: Path, opa: Evaluator) -> None:
    """Components come before the patches of the kustomization that names them."""
    layer(tmp_path / "tags", "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" + IMAGES)
    faults = found(tmp_path, "components: [tags]\n" + (OUTER if patched else ""), opa, p=SET)
    assert [fault.message for fault in faults] == ([] if patched else [stale("registry.example/tensorflow:2.15")] * 2)
