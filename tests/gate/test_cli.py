"""What users see of the command line: reports, statuses, and documents that say what the code says."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from gate import check, rules
from tests.command import gate, report
from tests.conftest import ROOT
from tests.edit import edit_file


@pytest.fixture
def refused(estate: Path) -> Path:
    """An overlay with one fault in the base."""
    edit_file(
        estate / "base/runtime/runtime.yaml", {"replace": "publishNotReadyAddresses: true", "with": "publishNotReadyAddresses: false"}
    )
    return estate / "overlays/no-ib-kueue"


def test_json_holds_what_the_contract_says(refused: Path) -> None:
    status, document = report(refused)
    assert status == 1
    assert document["summary"].items() >= {"targets": 1, "resources": 3, "errors": 1, "warnings": 0, "infos": 0, "waived": 0}.items()
    (finding,) = document["findings"]
    assert finding == {
        "rule": "jobset/publish-not-ready-addresses",
        "severity": "error",
        "message": finding["message"],
        "fix": rules.rules()["jobset/publish-not-ready-addresses"].fix,
        "targets": ["overlays/no-ib-kueue"],
        "file": "base/runtime/runtime.yaml",
        "line": finding["line"],
        "resource": {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "ClusterTrainingRuntime",
            "namespace": None,
            "name": "tensorflow-distributed",
        },
    }


def test_text_ends_with_a_verdict(refused: Path) -> None:
    result = gate("check", refused)
    lines = result.stdout.splitlines()
    assert result.exit_code == 1
    assert lines[0].startswith("✗ kustomization overlays/no-ib-kueue  (3 objects; judged without a cluster: ")
    assert "base/runtime/runtime.yaml" in lines
    assert re.match(r"REFUSED: 1 error; 1 target, 3 objects, \d+ rules in [\d.]+ s$", lines[-1])
    assert "\x1b" not in result.stdout, "no colours without a terminal"


def test_text_does_not_pass_on_control_characters(tmp_path: Path) -> None:
    (tmp_path / "clusters").mkdir()
    file = tmp_path / "a.yaml"
    file.write_text('apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n"x\\e[31m\\u202e": {}\n', encoding="utf-8")
    result = gate("check", file)
    assert result.exit_code == 1
    assert "unknown field x" in result.stdout
    assert "\x1b" not in result.stdout and "\u202e" not in result.stdout


def test_output_goes_to_a_file(refused: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    result = gate("check", "--format", "json", "--output", file, refused)
    assert (result.exit_code, result.stdout) == (1, "")
    assert len(json.loads(file.read_text(encoding="utf-8"))["findings"]) == 1


def test_an_output_that_cannot_be_written_is_told(refused: Path, tmp_path: Path) -> None:
    result = gate("check", "--output", tmp_path / "nowhere/report", refused)
    assert result.exit_code == 2
    assert "--output: cannot be written" in result.stderr


def test_a_cluster_is_given_by_name_or_by_path(estate: Path) -> None:
    by_name = report("--cluster", "lab", estate / "overlays/no-ib-kueue")
    assert by_name[0] == 1, "the lab's one node is too small for the overlay's defaults"
    assert {finding["rule"] for finding in by_name[1]["findings"]} == {"nodes/gang-fits", "queue/within-quota"}
    by_path = report("--cluster", estate / "clusters/lab/cluster.yaml", estate / "overlays/no-ib-kueue")
    assert {"queue/local-queue-exists", "refs/objects-exist"} <= {finding["rule"] for finding in by_path[1]["findings"]}, (
        "only the target exists"
    )


def test_a_run_that_builds_on_an_overlay_is_refused(estate: Path) -> None:
    run = estate / "clusters/lab/runs/lazy"
    run.mkdir()
    (run / "kustomization.yaml").write_text(
        "resources:\n- ../../../../overlays/no-ib-kueue/trainjob\nnameSuffix: -lazy\n", encoding="utf-8"
    )
    _, document = report(run)
    (finding,) = [finding for finding in document["findings"] if finding["rule"] == "run/self-contained"]
    assert (finding["file"], finding["line"]) == ("clusters/lab/runs/lazy/kustomization.yaml", 2)


@pytest.mark.parametrize(
    ("text", "rule", "line"),
    [
        ("resources:\n- https://example.com/a.yaml\n", "kustomize/no-remote-resources", 2),
        ("resources:\n- github.com/example/repo//deploy?ref=v1\n", "kustomize/no-remote-resources", 2),
        ("resources:\n- git@github.com:example/repo.git\n", "kustomize/no-remote-resources", 2),
        ("components:\n- ssh://git@example.com/repo\n", "kustomize/no-remote-resources", 2),
        ("patches:\n- path: https://example.com/p.yaml\n", "kustomize/no-remote-resources", 2),
        ("configMapGenerator:\n- name: a\n  files:\n  - a=https://example.com/p.yaml\n", "kustomize/no-remote-resources", 4),
        ("helmCharts:\n- name: trainer\n", "kustomize/no-plugins", 1),
        ("generators:\n- |-\n  apiVersion: example.com/v1\n  kind: Run\n  metadata: {name: r}\n", "kustomize/no-plugins", 2),
    ],
)
def test_a_build_that_would_reach_out_is_not_built(text: str, rule: str, line: int, tmp_path: Path) -> None:
    (tmp_path / "clusters").mkdir()
    (tmp_path / "kustomization.yaml").write_text(text, encoding="utf-8")
    status, document = report(tmp_path)
    assert status == 1
    assert [(finding["rule"], finding["line"]) for finding in document["findings"]] == [(rule, line)]


def test_explain_says_everything_about_a_rule() -> None:
    for rule in rules.rules().values():
        text = gate("explain", rule.id).stdout
        assert rule.title in text and f"Fix: {rule.fix}" in text
        assert all(place in text for place in rule.seen)
    result = gate("explain", "backoff")
    assert result.exit_code == 2
    assert "did you mean jobset/backoff-limit-zero?" in result.stderr


@pytest.mark.parametrize(
    ("file", "mark", "words"),
    [
        ("policies/README.md", "rules", ("rules", "--markdown")),
        ("policies/README.md", "seen", ("rules", "--seen")),
        ("README.md", "symptoms", ("rules", "--symptoms")),
        ("policies/README.md", "causes", ("why", "--causes")),
        ("clusters/README.md", "pairs", ("rules", "--pairs")),
    ],
)
def test_tables_are_generated(file: str, mark: str, words: tuple[str, ...]) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    between = text.partition(f"<!-- {mark} -->\n")[2].partition(f"<!-- /{mark} -->")[0]
    assert between.strip() == gate(*words).stdout.strip(), "write it with: make docs"


def test_problems_that_come_first_are_a_report_too(estate: Path) -> None:
    for cluster in ("nowhere", ""):
        status, document = report("--cluster", cluster, estate / "overlays/no-ib-kueue")
        assert status == 2
        assert document["findings"] == []
        assert "--cluster" in document["problems"][0]["message"]


def test_a_manifest_of_a_cluster_that_no_kustomization_holds_is_told(estate: Path) -> None:
    run = estate / "clusters/v100-ib/runs/forgotten"
    run.mkdir()
    (run / "trainjob.yaml").write_text(
        (estate / "clusters/v100-ib/runs/reference/trainjob.yaml").read_text(encoding="utf-8"), encoding="utf-8"
    )
    status, document = report(estate / "clusters/v100-ib")
    assert status == 2
    assert document["problems"][0]["file"] == "clusters/v100-ib/runs/forgotten/trainjob.yaml"
    assert "stands in no kustomization" in document["problems"][0]["message"]


def test_json_in_a_folder_is_judged_where_it_is_a_manifest(tmp_path: Path) -> None:
    for name, text in {
        "clusters/README.md": "",
        "k/a.json": '{"apiVersion": "v1",\n "kind": "ConfigMap",\n "metadata": {"name": "a", "namespace": "n"},\n "datum": {}}\n',
        "k/dashboard.json": '{"panels": [{"kind": "graph", "apiVersion": 1}]}\n',
        "k/package.json": '{"name": "k"}\n',
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    status, document = report(tmp_path / "k")
    assert [(finding["rule"], finding["file"], finding["line"]) for finding in document["findings"]] == [("schema/valid", "k/a.json", 4)]
    assert (status, document["summary"]["resources"]) == (1, 1)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/b.json").write_text('{"apiVersion": "v1", "kind": "ConfigMap"', encoding="utf-8")
    status, document = report(tmp_path / "broken")
    assert (status, document["problems"][0]["file"]) == (2, "broken/b.json")


def test_a_file_that_describes_a_folder_stands_for_it(estate: Path) -> None:
    run = estate / "clusters/lab/runs/more-nodes"
    targets = check.targets(estate, [run / "kustomization.yaml", estate / "clusters/lab/cluster.yaml"], None)
    assert [(target.name, target.kind) for target in targets] == [("clusters/lab/runs/more-nodes", "run"), ("clusters/lab", "cluster")]


def test_a_run_cannot_be_judged_where_the_rest_of_its_cluster_is_broken(estate: Path) -> None:
    edit_file(estate / "clusters/v100-ib/runtimes/kustomization.yaml", {"replace": "- network.yaml", "with": "- lost.yaml"})
    status, document = report(estate / "clusters/v100-ib/runs/reference")
    assert status == 2
    assert "lost.yaml does not exist" in document["problems"][0]["message"]


def test_a_copied_run_is_a_second_owner(estate: Path) -> None:
    shutil.copytree(estate / "clusters/v100-ib/runs/reference", estate / "clusters/v100-ib/runs/copy")
    status, document = report(estate / "clusters/v100-ib/runs/copy")
    assert status == 1
    assert {finding["rule"] for finding in document["findings"]} == {"scope/one-owner"}
    assert all(re.search(r" \(also in clusters/\S+/runs/\S+:\d+\)$", finding["message"]) for finding in document["findings"])


def test_a_report_is_written_into_a_pipe_and_does_not_replace_it(refused: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")
    assert gate("check", "--output", link, refused).exit_code == 1
    assert link.is_symlink()
    assert "REFUSED" in (tmp_path / "real").read_text(encoding="utf-8")


def test_a_script_is_judged_as_it_comes_out_of_the_build(estate: Path) -> None:
    folder = estate / "scripts"
    folder.mkdir()
    late = "import tensorflow as tf\nA = tf.constant(1)\nstrategy = tf.distribute.MultiWorkerMirroredStrategy()\n"
    (folder / "p.py").write_text("print(1)\n", encoding="utf-8")
    (folder / "q.py").write_text(late, encoding="utf-8")
    (folder / "kustomization.yaml").write_text(
        "namespace: training\ngeneratorOptions: {disableNameSuffixHash: true}\nconfigMapGenerator:\n- name: code\n  files: [p.py]\n"
        "- name: code-extra\n  files: [p.py=q.py]\n",
        encoding="utf-8",
    )
    _, document = report(folder)
    (finding,) = document["findings"]
    assert (finding["rule"], finding["file"], finding["line"]) == ("script/strategy-first", "scripts/q.py", 2)
