"""`gate new run`: a folder that passes the gate and that nothing outside can change."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.command import gate, report
from tests.conftest import ROOT

OVERLAYS = sorted(path.name for path in (ROOT / "overlays").iterdir() if path.is_dir())


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_a_new_run_is_judged_inside_its_cluster(overlay: str, estate: Path) -> None:
    folder = estate / "clusters/lab/runs/fresh"
    made = gate("new", "run", folder, "--overlay", overlay, "--nodes", "1", "--env", "EPOCHS=3")
    assert made.exit_code == 0, made.output
    status, document = report(folder)
    # the lab's node has not the CPUs that the runtime asks for by default: the gate says so, and nothing else
    assert {finding["rule"] for finding in document["findings"]} <= {"nodes/gang-fits", "queue/within-quota", "queue/volcano-capability"}
    assert document["summary"]["targets"] == 1
    assert status == 1
    job = yaml.safe_load((folder / "trainjob.yaml").read_text(encoding="utf-8"))
    assert {"name": "EPOCHS", "value": "3"} in job["spec"]["trainer"]["env"]
    assert {"name": "TF_NUM_WORKERS", "value": "1"} in job["spec"]["trainer"]["env"]


def test_a_new_run_fits_the_production_cluster(estate: Path) -> None:
    folder = estate / "clusters/v100-ib/runs/again"
    assert gate("new", "run", folder, "--overlay", "ib-volcano").exit_code == 0
    status, document = report(folder)
    assert (status, document["findings"]) == (0, [])


def test_a_new_run_of_one_of_several_teams(estate: Path) -> None:
    folder = estate / "clusters/h100-ib/runs/fresh"
    assert gate("new", "run", folder, "--overlay", "ib-kueue", "--namespace", "vision").exit_code == 0
    assert report(folder)[0] == 0
    assert {each["metadata"]["namespace"] for each in yaml.safe_load_all(gate("render", folder).stdout)} == {"vision"}


def test_a_new_run_in_a_namespace_without_a_queue_is_refused(estate: Path) -> None:
    folder = estate / "clusters/h100-ib/runs/fresh"
    assert gate("new", "run", folder, "--overlay", "ib-kueue").exit_code == 0
    assert "queue/local-queue-exists" in {finding["rule"] for finding in report(folder)[1]["findings"]}


def test_a_run_with_its_own_script(estate: Path, tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text("print('hello')\n", encoding="utf-8")
    folder = estate / "clusters/v100-ib/runs/mine"
    result = gate("new", "run", folder, "--overlay", "ib-volcano", "--script", script)
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in folder.iterdir()) == [
        "kustomization.yaml",
        "mine.py",
        "networkpolicy.yaml",
        "tfrun.py",
        "trainjob.yaml",
    ]
    job = yaml.safe_load((folder / "trainjob.yaml").read_text(encoding="utf-8"))
    assert job["spec"]["trainer"]["command"][-1] == "/workspace/code/mine.py"
    assert report(folder)[0] == 0


@pytest.mark.parametrize(
    ("folder", "words", "message"),
    [
        ("clusters/lab/runs/reference-kueue", ["--overlay", "ib-kueue"], "exists already"),
        ("clusters/lab/runs/Upper", ["--overlay", "ib-kueue"], "cannot name a run"),
        (f"clusters/lab/runs/{'x' * 49}", ["--overlay", "ib-kueue"], "cannot name a run"),
        ("clusters/lab/runs/a", ["--overlay", "fast"], "there is no overlay fast (there are: ib-kueue"),
        ("clusters/nowhere/runs/a", ["--overlay", "ib-kueue"], "is no place for a run"),
        ("clusters/lab/a", ["--overlay", "ib-kueue"], "is no place for a run"),
        ("clusters/lab/runs/a", ["--overlay", "ib-kueue", "--namespace", "a/b"], "cannot name a namespace"),
        ("clusters/lab/runs/a", ["--overlay", "ib-kueue", "--env", "EPOCHS"], "write NAME=VALUE"),
        ("clusters/lab/runs/a", ["--overlay", "ib-kueue", "--env", "TF_NUM_WORKERS=3"], "it follows --nodes"),
    ],
)
def test_refusals_leave_nothing_behind(folder: str, words: list[str], message: str, estate: Path) -> None:
    before = sorted(estate.rglob("*"))
    result = gate("new", "run", estate / folder, *words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert sorted(estate.rglob("*")) == before
