"""`--against REF`: a run that exists is never edited, and `--changed` leaves out only what no change can affect."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gate import check, evaluate, history, reports
from gate.model import GateError
from tests.command import gate, report
from tests.edit import edit_file, line_of

RUN = "clusters/v100-ib/runs/reference"
JOB = f"{RUN}/trainjob.yaml"


def git(folder: Path, *words: str) -> None:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *words], cwd=folder, env=environment, check=True, capture_output=True)


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "as it is")


@pytest.fixture
def committed(estate: Path) -> Path:
    """The estate as a Git repository with one commit."""
    git(estate, "init", "-q", "-b", "main")
    commit(estate)
    return estate


Edits = Callable[[Path], list[dict[str, object]]]


@pytest.fixture
def edits(opa: evaluate.Evaluator) -> Edits:
    """The findings of the rule, of a check of a target against main that could be done."""

    def judged(target: Path) -> list[dict[str, object]]:
        root = check.repository(target)
        with history.at(root, "main") as before:
            outcome = check.check(root, check.targets(root, [target], None), evaluator=opa, before=before)
        assert outcome.status < 2, outcome.problems
        findings: list[dict[str, object]] = json.loads(reports.render("json", outcome))["findings"]
        return [finding for finding in findings if finding["rule"] == "run/immutable"]

    return judged


def test_an_edited_run_is_refused_at_the_line_of_the_edit(committed: Path, edits: Edits) -> None:
    edit_file(committed / JOB, {"replace": "numNodes: 2", "with": "numNodes: 1"})
    (finding,) = edits(committed / RUN)
    assert finding["severity"] == "error"
    assert (
        finding["message"] == "TrainJob/training/reference exists at main and is edited: spec.trainer.env[0].value, spec.trainer.numNodes"
    )
    assert (finding["file"], finding["line"]) == (JOB, line_of(committed / JOB, "numNodes: 1"))
    assert "`gate new run clusters/v100-ib/runs/NEW`" in str(finding["fix"])
    assert finding["targets"] == [RUN]
    (of_cluster,) = edits(committed / "clusters/v100-ib")
    assert (of_cluster["file"], of_cluster["line"]) == (finding["file"], finding["line"])
    assert of_cluster["targets"] == ["clusters/v100-ib", RUN]


def test_edited_code_is_an_edit_of_the_run(committed: Path, edits: Edits) -> None:
    with (committed / RUN / "train.py").open("a", encoding="utf-8") as file:
        file.write("# one more line\n")
    (finding,) = edits(committed / RUN)
    assert finding["file"] == f"{RUN}/train.py"
    assert str(finding["message"]).endswith('is edited: data["train.py"]')


def move(committed: Path) -> None:
    (committed / RUN).rename(committed / "clusters/v100-ib/runs/moved")


def remove(committed: Path) -> None:
    shutil.rmtree(committed / RUN)


def comment(committed: Path) -> None:
    file = committed / JOB
    file.write_text("# a comment\n\n" + file.read_text(encoding="utf-8").replace("spec:\n", "spec: # more\n", 1), encoding="utf-8")


def add(committed: Path) -> None:
    assert gate("new", "run", committed / "clusters/v100-ib/runs/again", "--overlay", "ib-volcano").exit_code == 0


@pytest.mark.parametrize("change", [move, remove, comment, add])
def test_what_is_no_edit_passes(change: Callable[[Path], None], committed: Path, edits: Edits) -> None:
    change(committed)
    assert edits(committed / "clusters/v100-ib") == []


def test_a_run_that_moves_is_the_same_run(committed: Path, edits: Edits) -> None:
    edit_file(committed / JOB, {"replace": "numNodes: 2", "with": "numNodes: 1"})
    move(committed)
    (finding,) = edits(committed / "clusters/v100-ib")
    assert "TrainJob/training/reference exists at main and is edited" in str(finding["message"])


EXTRA = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra, namespace: training}\n"


def give(committed: Path, name: str, text: str) -> None:
    """Another object for the run."""
    (committed / RUN / name).write_text(text, encoding="utf-8")
    edit_file(committed / RUN / "kustomization.yaml", {"replace": "- trainjob.yaml\n", "with": f"- trainjob.yaml\n- {name}\n"})


def test_an_object_that_a_run_gains_is_an_edit(committed: Path, edits: Edits) -> None:
    give(committed, "extra.yaml", EXTRA)
    (gained,) = edits(committed / RUN)
    assert (gained["message"], gained["file"]) == (
        "ConfigMap/training/extra is new in a run that exists at main",
        f"{RUN}/extra.yaml",
    )


def test_an_object_that_a_run_loses_is_an_edit(committed: Path, edits: Edits) -> None:
    give(committed, "extra.yaml", EXTRA)
    commit(committed)
    edit_file(committed / RUN / "kustomization.yaml", {"replace": "- extra.yaml\n", "with": ""})
    (lost,) = edits(committed / RUN)
    assert (lost["message"], lost["file"]) == (
        "the run exists at main and loses ConfigMap/training/extra",
        f"{RUN}/kustomization.yaml",
    )


def test_a_run_that_did_not_build_may_be_mended_with_a_warning(committed: Path, edits: Edits) -> None:
    kustomization = committed / RUN / "kustomization.yaml"
    edit_file(kustomization, {"replace": "- trainjob.yaml\n", "with": "- lost.yaml\n"})
    commit(committed)
    edit_file(kustomization, {"replace": "- lost.yaml\n", "with": "- trainjob.yaml\n"})
    (finding,) = edits(committed / RUN)
    assert finding["severity"] == "warning"
    assert "cannot be compared with what it is at main, where it does not build: resources: lost.yaml does not exist" in str(
        finding["message"]
    )


def test_values_of_a_secret_are_not_shown(committed: Path, edits: Edits) -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: training}\nimmutable: true\nstringData: {password: BEFORE}\n"
    give(committed, "secret.yaml", secret)
    commit(committed)
    edit_file(committed / RUN / "secret.yaml", {"replace": "BEFORE", "with": "AFTERWARDS"})
    (finding,) = edits(committed / RUN)
    assert str(finding["message"]).endswith("is edited: stringData.password")
    assert "BEFORE" not in str(finding) and "AFTERWARDS" not in str(finding)


@pytest.mark.parametrize("ref", ["nowhere", "", "--output=x", "main..main", "HEAD:clusters", "$(touch x)"])
def test_a_revision_that_is_none_is_a_problem(ref: str, committed: Path) -> None:
    status, document = report(f"--against={ref}", committed / RUN)
    assert (status, document["findings"]) == (2, [])
    assert f"--against {ref}: there is no such commit, branch or tag here" in document["problems"][0]["message"]


def test_a_folder_that_git_does_not_know_is_a_problem(estate: Path) -> None:
    status, document = report("--against", "main", estate / RUN)
    assert status == 2
    assert "is in no Git repository" in document["problems"][0]["message"]
    status, document = report("--changed", estate / RUN)
    assert status == 2
    assert "--changed: say with --against" in document["problems"][0]["message"]


def test_nothing_of_the_repository_is_run_or_followed(committed: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    script = tmp_path / "evil"
    script.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n", encoding="utf-8")
    script.chmod(0o755)
    (committed / ".gitattributes").write_text("* filter=evil diff=evil\nclusters/** export-ignore\n", encoding="utf-8")
    (committed / "out").symlink_to(tmp_path)
    git(committed, "add", "-A")
    git(committed, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    git(committed, "commit", "-q", "-m", "hostile")
    for key in (
        "filter.evil.smudge",
        "filter.evil.clean",
        "filter.evil.process",
        "diff.evil.textconv",
        "core.fsmonitor",
        "core.sshCommand",
    ):
        git(committed, "config", key, str(script))
    hooks = committed / ".git/hooks"
    shutil.rmtree(hooks, ignore_errors=True)
    hooks.mkdir()
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        shutil.copy(script, hooks / name)
    if os.getuid() == 0:
        os.chown(committed / ".git", 12345, 12345)  # somebody else's, as in a container
    with history.at(committed, "main") as before:
        assert (before.folder / JOB).read_bytes() == (committed / JOB).read_bytes(), "attributes hide nothing"
        assert (before.folder / "out").is_symlink()
        assert not (before.folder / "module").exists()
    assert not before.folder.exists()
    assert not ran.exists()


def test_a_clone_that_lacks_objects_fetches_none(committed: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    for key, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "evil",
        "remote.evil.promisor": "true",
        "remote.evil.url": f"ext::sh -c touch% {ran}",
        "protocol.ext.allow": "always",
    }.items():
        git(committed, "config", key, value)
    named = subprocess.run(["git", "rev-parse", f"main:{JOB}"], cwd=committed, capture_output=True, text=True, check=True).stdout.strip()
    (committed / ".git/objects" / named[:2] / named[2:]).unlink()
    edit_file(committed / JOB, {"replace": "numNodes: 2", "with": "numNodes: 1"})
    status, document = report("--against", "main", committed / RUN)
    assert status == 2
    assert f"git lacks the content of {JOB} at this commit" in document["problems"][0]["message"]
    assert not ran.exists()


def test_a_commit_cannot_write_through_its_own_links(tmp_path: Path) -> None:
    """Git keeps a tree that holds a link and a folder of one name, and lists what stands below both."""
    repository, outside = tmp_path / "repository", tmp_path / "outside"
    repository.mkdir()
    outside.mkdir()

    def made(*words: str, given: str) -> str:
        return subprocess.run(["git", *words], cwd=repository, input=given, capture_output=True, text=True, check=True).stdout.strip()

    git(repository, "init", "--quiet")
    link = made("hash-object", "-w", "--stdin", given=str(outside))
    below = made("mktree", given=f"120000 blob {link}\tlink\n")
    deeper = made("mktree", given=f"120000 blob {link}\tlink\n040000 tree {below}\tmade\n")
    tree = made("mktree", given=f"120000 blob {link}\ta\n040000 tree {deeper}\ta\n")
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com")
    evil = made(*identity, "commit-tree", "-m", "evil", tree, given="")
    with pytest.raises(GateError, match="below a link"), history.at(repository, evil):
        pass
    assert list(outside.iterdir()) == []


def test_a_run_of_an_impossible_shape_is_a_problem(committed: Path) -> None:
    shapes = [
        "resources: 3\n",
        "resources: [loop]\n",
        "resources: ['a\\0b']\n",
        "transformers: {a: b}\n",
        "[",
        "",
        "patches: [{path: 3}]\n",
    ]
    files = [committed / f"clusters/v100-ib/runs/odd-{number}/kustomization.yaml" for number in range(len(shapes))]
    for file, text in zip(files, shapes, strict=True):
        file.parent.mkdir()
        (file.parent / "loop").symlink_to("loop")
        file.write_text(text, encoding="utf-8")
    commit(committed)
    for file in files:
        file.write_text(file.read_text(encoding="utf-8") + "# edited\n", encoding="utf-8")
    status, document = report("--against", "main", committed / "clusters/v100-ib")
    assert status == 2
    told = " ".join(problem["file"] for problem in document["problems"])
    assert all(file.parent.name in told for file in files)


def all_targets(root: Path) -> set[str]:
    return {target.name for target in check.targets(root, [], None)}


def affected(root: Path, cluster: str | None = None) -> set[str]:
    with history.at(root, "main") as before:
        return {target.name for target in check.affected(root, check.targets(root, [], cluster), cluster, before)}


IB = {"overlays/ib-kueue", "overlays/ib-volcano", "clusters/h100-ib", "clusters/lab", "clusters/v100-ib"}


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("overlays/README.md", set()),
        ("clusters/lab/lab/cli.py", set()),
        ("clusters/v100-ib/cluster.yaml", {"clusters/v100-ib"}),
        ("clusters/lab/runs/own-script/digits.py", {"clusters/lab"}),
        ("overlays/no-ib-kueue/kustomization.yaml", {"overlays/no-ib-kueue"}),
        ("policies/rules/new.rego", None),
        ("policies/waivers.yaml", None),
        ("base/runtime/runtime.yaml", None),
    ],
)
def test_only_what_a_change_can_affect_is_checked(file: str, expected: set[str] | None, committed: Path) -> None:
    path = committed / file
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as stream:
        stream.write("\n")
    everything = all_targets(committed) - ({"training"} if file.startswith("base/") else set())
    assert affected(committed) == (everything if expected is None else expected)


def test_a_component_affects_the_variants_that_use_it(committed: Path) -> None:
    (component,) = (committed / "base/components/infiniband").glob("kustomization.yaml")
    component.write_text("# edited\n" + component.read_text(encoding="utf-8"), encoding="utf-8")
    assert affected(committed) == IB


def test_a_deleted_file_counts_as_changed(committed: Path) -> None:
    plain = committed / "overlays/plain"
    plain.mkdir()
    for name in ("a", "b"):
        (plain / f"{name}.yaml").write_text(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: training}}\n")
    commit(committed)
    assert affected(committed) == set()
    (plain / "b.yaml").unlink()
    assert affected(committed) == {"overlays/plain"}


def test_a_file_that_a_transformer_names_counts(committed: Path) -> None:
    folder = committed / "overlays/no-ib-kueue"
    (folder / "t.yaml").write_text(
        "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: t}\npath: hidden.yaml\n", encoding="utf-8"
    )
    (folder / "hidden.yaml").write_text("apiVersion: v1\n", encoding="utf-8")
    with (folder / "kustomization.yaml").open("a", encoding="utf-8") as stream:
        stream.write("transformers: [t.yaml]\n")
    commit(committed)
    assert affected(committed) == set()
    (folder / "hidden.yaml").write_text("apiVersion: v2\n", encoding="utf-8")
    assert affected(committed) == {"overlays/no-ib-kueue"}


def test_what_is_left_out_is_told(committed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit_file(committed / "overlays/no-ib-kueue/kustomization.yaml", {"replace": "resources:\n", "with": "resources: # edited\n"})
    monkeypatch.chdir(committed)
    result = gate("check", "--against", "main", "--changed")
    assert result.exit_code == 0
    assert "1 target, " in result.stdout.splitlines()[-1]
    assert result.stdout.splitlines()[-1].endswith(f"{len(all_targets(committed)) - 1} targets not affected by the change")
