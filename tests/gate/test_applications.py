"""What an Application deploys of a repository, whose layout is anybody's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from gate import applications, check, render
from gate.evaluate import Evaluator
from gate.model import Unit

URL = "https://git.example/larks/runs.git"
RUN = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: dawn, labels: {kueue.x-k8s.io/queue-name: early}}
spec: {runtimeRef: {name: tf-larks}}
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with two runs, one of them a kustomization, an empty folder, a file and a chart."""
    for folder in ("clusters", "work/dawn", "work/dusk", "work/empty", "work/chart", "deploy"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "work/dawn/run.yaml").write_text(RUN)
    (tmp_path / "work/dusk/run.yaml").write_text(RUN)
    (tmp_path / "work/dusk/kustomization.yaml").write_text("resources: [run.yaml]\nnamespace: larks\nnameSuffix: -dusk\n")
    (tmp_path / "work/chart/Chart.yaml").write_text("name: larks\n")
    (tmp_path / "work/notes").write_text("")
    return tmp_path


def views(repository: Path, **spec: Any) -> list[dict[str, Any]]:
    manifest = {"apiVersion": "argoproj.io/v1alpha1", "metadata": {"name": "larks"}, "spec": spec}
    manifest["kind"] = "ApplicationSet" if "template" in spec else "Application"
    file = repository / "deploy" / "application.yaml"
    file.write_text(yaml.safe_dump(manifest))
    render.render.cache_clear()
    return applications.for_rules(repository, render.render(Unit(path=file, kustomization=False)).resources, None)


def source(path: str, url: str = URL, **more: Any) -> dict[str, Any]:
    return {"repoURL": url, "path": path, **more}


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("work/dawn", ""),
        ("work/dusk", ""),
        ("work/chart", ""),
        ("work/dwan", "does not exist in this repository"),
        ("wrok/dawn", "does not exist in this repository"),
        ("work/../../etc", "does not exist in this repository"),
        ("work/empty", "holds no kustomization and no manifest"),
        ("work/notes", "is a file, and Argo CD deploys folders"),
        ("config/default", ""),  # another repository's
        ("{{ .path }}/dwan", ""),
        ("work/" + "a" * 300, ""),
        ("work/\0", ""),
        ("/" * 2000, ""),
    ],
)
def test_paths(repository: Path, path: str, fault: str) -> None:
    (view,) = views(repository, source=source(path))
    assert [each["fault"] for each in view["sources"]] == [fault]


def test_a_path_of_a_repository_that_is_found_here_is_judged(repository: Path) -> None:
    (view,) = views(repository, sources=[source("work/dawn"), source("elsewhere/far", URL.upper().removesuffix(".GIT"))])
    assert [each["fault"] for each in view["sources"]] == ["", "does not exist in this repository"]


def test_nothing_outside_of_the_repository_is_read(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "run.yaml").write_text(RUN)
    (repository / "work/link").symlink_to(outside)
    (view,) = views(repository, source=source("work/link"))
    assert view["deploys"] == []
    assert not view["known"]


@pytest.mark.parametrize(("path", "name"), [("work/dawn", "dawn"), ("work/dusk", "dawn-dusk")])
def test_what_a_folder_deploys(repository: Path, path: str, name: str) -> None:
    (view,) = views(repository, source=source(path))
    assert [each["metadata"]["name"] for each in view["deploys"]] == [name]
    assert view["known"]


def test_what_kueue_writes_is_told_of_a_run(repository: Path) -> None:
    (repository / "work/dawn/run.yaml").write_text(RUN.replace("spec: {", "spec: {suspend: false, trainer: {numNodes: 2}, "))
    (view,) = views(repository, source=source("work/dawn"))
    assert [each["spec"] for each in view["deploys"]] == [{"suspend": False}]


@pytest.mark.parametrize("letters", [262144, 240000])
def test_what_is_too_big_for_client_side_apply_is_measured(repository: Path, letters: int, opa: Evaluator) -> None:
    """The content itself does not reach the rules."""
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owls"}, "data": {"text": "x" * letters}}
    (repository / "work/dawn/text.yaml").write_text(yaml.safe_dump(manifest))
    (view,) = views(repository, source=source("work/dawn"))
    assert view["deploys"][1]["bytes"] == len(json.dumps(manifest, separators=(",", ":")))
    outcome = check.check(repository, check.targets(repository, [repository / "deploy/application.yaml"], None), evaluator=opa)
    refused = "argocd/server-side-apply" in {finding.rule for finding in outcome.findings}
    assert refused == (letters == 262144)


@pytest.mark.parametrize("more", [{"chart": "larks"}, {"directory": {"include": "*.json"}}, {"kustomize": {"namePrefix": "a-"}}])
def test_what_cannot_be_told_is_not_known(repository: Path, more: dict[str, Any]) -> None:
    (view,) = views(repository, source=source("work/dawn", **more))
    assert not view["known"]


def test_an_applicationset_is_the_applications_that_it_makes(repository: Path) -> None:
    template = {"metadata": {"name": "run-{{ .path.basename }}"}, "spec": {"source": source("{{ .path.path }}")}}
    folders = [{"path": "work/*"}, {"path": "work/empty", "exclude": True}, {"path": "work/chart", "exclude": True}]
    found = views(repository, generators=[{"git": {"repoURL": URL, "directories": folders}}], template=template)
    assert [(view["name"], len(view["deploys"])) for view in found] == [("run-dawn", 1), ("run-dusk", 1)]


def test_elements_of_a_list_are_put_into_a_template(repository: Path) -> None:
    template = {"metadata": {"name": "{{run}}"}, "spec": {"source": source("work/{{run}}"), "destination": {"namespace": "{{ns}}"}}}
    found = views(repository, generators=[{"list": {"elements": [{"run": "dawn"}, {"run": "night"}]}}], template=template)
    assert [(view["name"], view["sources"][0]["fault"]) for view in found] == [("dawn", ""), ("night", "does not exist in this repository")]
    assert {view["spec"]["destination"]["namespace"] for view in found} == {"{{ns}}"}


def test_a_generator_that_cannot_be_told_leaves_the_template(repository: Path) -> None:
    template = {"metadata": {"name": "{{ .name }}"}, "spec": {"source": source("work/{{ .name }}")}}
    (view,) = views(repository, generators=[{"clusters": {}}], template=template)
    assert (view["name"], view["sources"][0]["fault"], view["known"]) == ("{{ .name }}", "", False)


@pytest.mark.parametrize(("pattern", "found"), [("wrok/*", True), ("work/*", False), ("team/*/new/*", False), ("clusters/*", False)])
def test_a_generator_that_looks_in_a_folder_that_is_called_nearly_so(repository: Path, pattern: str, found: bool) -> None:
    template = {"metadata": {"name": "{{ .path.basename }}"}, "spec": {"source": source("{{ .path.path }}")}}
    (view, *_) = views(repository, generators=[{"git": {"repoURL": URL, "directories": [{"path": pattern}]}}], template=template)
    assert [each["pattern"] for each in view["generators"]] == ([pattern] if found else [])
