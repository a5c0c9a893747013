"""What kustomize does to custom resources without saying so is found where it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import report
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
KNOWN = "configurations: [follow.yaml]\n"
IMAGES = 'images: [{name: registry.example/tensorflow, newTag: "2.15"}]\n'
STALE = (
    "the image is registry.example/tensorflow:2.14, and `images:` of the kustomization sets its tag to 2.15: it does not reach a TrainJob"
)


def found(folder: Path, kustomization: str, **files: str) -> list[tuple[str, str, str, int]]:
    (folder / "clusters").mkdir()
    texts = {"run.yaml": RUN, "other.yaml": OTHER, "kustomization.yaml": "resources: [run.yaml, other.yaml]\n" + kustomization}
    for name, text in (texts | {f"{name}.yaml": text for name, text in files.items()}).items():
        (folder / name).write_text(text, encoding="utf-8")
    _, document = report(folder)
    assert document["problems"] == []
    findings = [finding for finding in document["findings"] if finding["rule"] in ("kustomize/lists-kept", "kustomize/images-followed")]
    return [(finding["rule"], finding["message"], finding["file"], finding["line"]) for finding in findings]


@pytest.mark.parametrize("field", ["patches: [{path: p.yaml}]\n", "patchesStrategicMerge: [p.yaml]\n"])
def test_a_patch_that_loses_variables(field: str, tmp_path: Path) -> None:
    faults = found(tmp_path, field, p=PATCH + '    - {name: SEED, value: "7"}\n')
    assert faults == [("kustomize/lists-kept", LOST, "p.yaml", line_of(tmp_path / "p.yaml", "env:"))]


def test_a_patch_that_repeats_the_list(tmp_path: Path) -> None:
    patch = PATCH + '    - {name: EPOCHS, value: "9"}\n    - {name: TF_NUM_WORKERS, value: "2"}\n    - {name: SEED, value: "7"}\n'
    assert found(tmp_path, "patches: [{path: p.yaml}]\n", p=patch) == []


def test_a_json_patch_that_adds_to_the_list(tmp_path: Path) -> None:
    patch = "- {op: add, path: /spec/trainer/env/-, value: {name: SEED, value: '7'}}\n"
    assert found(tmp_path, "patches: [{path: p.yaml, target: {kind: TrainJob, name: night}}]\n", p=patch) == []


def test_an_image_that_is_not_reached(tmp_path: Path) -> None:
    faults = found(tmp_path, IMAGES)
    assert faults == [
        ("kustomize/images-followed", STALE, "other.yaml", line_of(tmp_path / "other.yaml", "image:")),
        ("kustomize/images-followed", STALE, "run.yaml", line_of(tmp_path / "run.yaml", "image:")),
    ]


def test_an_image_that_a_configuration_reaches(tmp_path: Path) -> None:
    assert found(tmp_path, IMAGES + KNOWN, follow="images: [{path: spec/trainer/image, kind: TrainJob}]\n") == []


def test_an_image_of_another_name(tmp_path: Path) -> None:
    assert found(tmp_path, 'images: [{name: registry.example/tools, newTag: "2.15"}]\n') == []
