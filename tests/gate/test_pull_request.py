"""The workflow and the hook: what they may do, and their own commands run as a runner and pre-commit run them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import ROOT
from tests.edit import edit_file
from tests.gate.test_against import commit, git

WORKFLOW = ROOT / ".github/workflows/gate.yaml"
RUN = "clusters/v100-ib/runs/reference"
PRE_COMMIT = Path(sys.executable).with_name("pre-commit")


def workflow() -> dict[Any, Any]:
    content: dict[Any, Any] = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    return content


def steps() -> list[dict[str, Any]]:
    return [step for job in workflow()["jobs"].values() for step in job["steps"]]


def test_the_workflow_has_no_more_rights_than_it_needs() -> None:
    content = workflow()
    assert content[True] == "pull_request", "PyYAML reads `on` as true"
    assert content["permissions"] == {"contents": "read"}
    assert not any("permissions" in job for job in content["jobs"].values())
    text = WORKFLOW.read_text(encoding="utf-8")
    assert "secrets" not in text.replace("No secrets", "")
    assert all(re.search(rf"{re.escape(step['uses'])} # v\d+\.\d+\.\d+\n", text) for step in steps() if "uses" in step)
    assert all(re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", step["uses"]) for step in steps() if "uses" in step)
    checkouts = [step["with"] for step in steps() if "checkout" in step.get("uses", "")]
    assert all(with_["persist-credentials"] is False for with_ in checkouts)
    assert not any("${{" in step["run"] for step in steps() if "run" in step), "nothing of the change is written into a script"


@pytest.fixture
def change(estate: Path) -> Path:
    """A checkout of a pull request as the workflow has it: HEAD^1 is the branch."""
    git(estate, "init", "-q", "-b", "main")
    commit(estate)
    return estate


def run(change: Path) -> tuple[int, str, Path]:
    """Runs the scripts of the job `gate`: its status, what it printed, and its folder."""
    workspace = change.parent / "workspace"
    workspace.mkdir()
    (workspace / "gate").symlink_to(ROOT)
    change.rename(workspace / "change")
    printed = ""
    for step in workflow()["jobs"]["gate"]["steps"]:
        if "run" in step:
            environment = {**os.environ, "GITHUB_STEP_SUMMARY": str(workspace / "summary")}
            done = subprocess.run(
                ["bash", "-e", "-c", step["run"]], cwd=workspace, env=environment, capture_output=True, text=True, check=False
            )
            printed += done.stdout
            if done.returncode:
                return done.returncode, printed, workspace
    return 0, printed, workspace


def test_the_workflow_refuses_an_edited_run_with_all_its_reports(change: Path) -> None:
    edit_file(change / RUN / "trainjob.yaml", {"replace": 'name: EPOCHS, value: "10"', "with": 'name: EPOCHS, value: "20"'})
    commit(change)
    status, printed, workspace = run(change)
    assert status == 1
    stop, resume = re.search(r"^::stop-commands::(\w{32})$", printed, re.MULTILINE), printed.partition("REFUSED: 1 error")[2]
    assert stop and f"::{stop[1]}::" in resume, "the text is printed while commands are off"
    assert re.search(rf"^::error file={RUN}/trainjob.yaml,line=\d+,title=run/immutable", resume, re.MULTILINE)
    assert (workspace / "summary").read_text(encoding="utf-8").startswith("## ❌ REFUSED: 1 error")
    assert sorted(path.name for path in (workspace / "reports").iterdir()) == ["annotations", "gate.html", "gate.md", "gate.sarif"]
    kept = next(step["with"]["path"].split() for step in steps() if "upload-artifact" in step.get("uses", ""))
    assert all((workspace / path).is_file() for path in kept)


def hook() -> dict[str, Any]:
    ((manifest),) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    found: dict[str, Any] = manifest
    return found


def test_the_hook_that_is_offered_is_the_one_that_is_used_here() -> None:
    for command in ("validate-config", "validate-manifest"):
        subprocess.run([PRE_COMMIT, command], cwd=ROOT, check=True)
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    used = next(each for each in repository["hooks"] if each["id"] == "gate")
    assert used == {key: value for key, value in hook().items() if key != "description"}


def test_pre_commit_refuses_a_commit_that_the_gate_refuses(change: Path) -> None:
    git(change, "update-ref", "refs/remotes/origin/main", "HEAD")
    local = {"repo": "local", "hooks": [{**hook(), "entry": str(ROOT / hook()["entry"])}]}
    (change / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [local]}), encoding="utf-8")
    git(change, "add", "-A")
    environment = {**os.environ, "PRE_COMMIT_HOME": str(change.parent / "pre-commit")}

    def pre_commit() -> subprocess.CompletedProcess[str]:
        return subprocess.run([PRE_COMMIT, "run"], cwd=change, env=environment, capture_output=True, text=True, check=False)

    skipped = pre_commit()
    assert (skipped.returncode, "Skipped" in skipped.stdout) == (0, True), "no manifest is staged"
    edit_file(change / RUN / "trainjob.yaml", {"replace": 'name: EPOCHS, value: "10"', "with": 'name: EPOCHS, value: "20"'})
    git(change, "add", "-A")
    refused = pre_commit()
    assert refused.returncode == 1
    assert "run/immutable" in refused.stdout
    assert "targets not affected by the change" in refused.stdout
