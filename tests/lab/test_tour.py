"""`lab tour jobset`: the tour itself, what it leaves, and `--check` on what a learner did wrong."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gate.why.cluster import connect
from lab.cli import main
from lab.tour import guide
from lab.tour.look import Look
from tests.lab.conftest import Cluster

pytestmark = pytest.mark.lab
FILES = {"hello.yaml", "dns.txt", "labels.txt", "restart.txt", "train.yaml", "big.txt", "report.json"}
KINDS = "trainjobs,jobsets,jobs,pods,workloads,podgroups"


def tour(cluster: Cluster, output: Path, *words: str) -> Result:
    """The command against a kubeconfig, as against any cluster's: it is not told that this is the lab."""
    copied = output.parent / f"{output.name}.kubeconfig"
    shutil.copy(cluster.lab.kubeconfig, copied)
    return CliRunner().invoke(main, ["tour", "jobset", f"--output={output}", f"--kubeconfig={copied}", *words])


def lacking(cluster: Cluster, output: Path) -> dict[str, list[str]]:
    """What each step lacks, by its name; only those that lack anything."""
    found = guide.lacking(Look(connect(cluster.lab.kubeconfig)), output)
    return {step.name: faults for step, faults in found if faults}


@pytest.fixture(scope="module")
def files(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The whole tour in the lab, as a person has it who keeps what it made."""
    folder = tmp_path_factory.mktemp("tour")
    done = CliRunner().invoke(main, ["tour", "jobset", f"--output={folder}", "--keep"])
    assert done.exit_code == 0, done.output
    (folder / "told").write_text(done.output, encoding="utf-8")
    yield folder
    guide.Guide(cluster.lab, folder, guide.Console(quiet=True)).clean()


def test_it_leaves_its_files_and_the_report(files: Path) -> None:
    assert {path.name for path in files.iterdir()} == {*FILES, "told"}
    assert json.loads((files / "report.json").read_text()) == {"admitted": ["train"], "suspended": ["big"], "fragile_restarts": 1}
    assert (files / "restart.txt").read_text() == "restarts=1\n"
    assert "maximum capacity (3)" in (files / "big.txt").read_text()


def test_it_says_what_the_mistakes_do_and_why_a_gang_is_held(files: Path) -> None:
    told = (files / "told").read_text()
    assert re.search(r"replaced-alone +0 ", told)
    assert re.search(r"restarted-in-place-worker-0-1-\w+ +1/1 +Running +1 \(", told)
    for rule in ("jobset/backoff-limit-zero", "jobset/restart-policy-never", "queue/kueue-label-place", "queue/within-quota"):
        assert f"error {rule}" in told
    assert "and ClusterQueue ml has 3 in all" in told
    assert "queue resource quota insufficient: insufficient nvidia.com/gpu" in told


def test_check_is_content_with_what_the_tour_made(files: Path, cluster: Cluster) -> None:
    done = tour(cluster, files, "--check")
    assert (done.exit_code, done.output.splitlines()[-1]) == (0, "8 of 8 steps are as they shall be")


WRONG_FILES = {
    "no file": ("1", "hello.yaml", None, "there is no file "),
    "another JobSet": ("1", "hello.yaml", "name: hello\n  name: other", "hello.yaml holds no JobSet hello"),
    "two Jobs": (
        "1",
        "hello.yaml",
        "parallelism: 2\n  parallelism: 3",
        "hello.yaml: hello: worker is 1 Job of 3 pods, and shall be 1 Job of 2 pods",
    ),
    "another address": ("2", "dns.txt", "10.88.\n10.99.", "dns.txt does not have 10.88."),
    "worker 0": ("3", "labels.txt", "completion-index=1\ncompletion-index=0", "job-completion-index=0, and the worker with completion"),
    "a label": ("3", "labels.txt", "jobset.sigs.k8s.io/job-index=0\n", "labels.txt lacks jobset.sigs.k8s.io/job-index=0"),
    "another count": ("4", "restart.txt", "=1\n=7", "restart.txt says 'restarts=7', and status.restarts of fragile makes it restarts=1"),
    "no label": (
        "6",
        "train.yaml",
        "queue-name: lq\nqueue-name: other",
        "train.yaml: train: the label kueue.x-k8s.io/queue-name on the JobSet is other",
    ),
    "another reason": ("7", "big.txt", "quota\nluck", "big.txt does not have the Workload's reason"),
    "big is admitted": ("8", "report.json", '"train"\n"train", "big"', 'admitted is ["train", "big"], and the cluster says ["train"]'),
    "no JSON": ("8", "report.json", "{\n", "report.json is no JSON"),
}


@pytest.mark.parametrize(("step", "file", "edit", "message"), WRONG_FILES.values(), ids=WRONG_FILES)
def test_check_names_what_is_wrong_with_a_file(
    step: str, file: str, edit: str | None, message: str, files: Path, cluster: Cluster, tmp_path: Path
) -> None:
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    if edit is None:
        (tmp_path / file).unlink()
    else:
        old, _, new = edit.partition("\n")
        text = (tmp_path / file).read_text()
        assert old in text
        (tmp_path / file).write_text(text.replace(old, new.strip()))
    found = lacking(cluster, tmp_path)
    assert list(found) == [step]
    assert message in "; ".join(found[step])


WRONG_JOBSETS = {  # file: edits
    "hello.yaml": [("parallelism: 2\n        completions: 2", "parallelism: 1\n        completions: 1")],
    "fragile.yaml": [("maxRestarts: 2", "maxRestarts: 5"), ("backoffLimit: 0", "backoffLimit: 3")],
    "eval.yaml": [("operator: Any\n    targetReplicatedJobs: [leader]", "operator: All")],
    "train.yaml": [
        ("  labels:\n    kueue.x-k8s.io/queue-name: lq\n", ""),
        (
            "    template:\n      spec:\n        par",
            "    template:\n      metadata: {labels: {kueue.x-k8s.io/queue-name: lq}}\n      spec:\n        par",
        ),
    ],
    "big.yaml": [("parallelism: 4\n        completions: 4", "parallelism: 1\n        completions: 1")],
}
NAMED = {
    "1": [
        "hello: worker is 1 Job of 1 pod, and shall be 1 Job of 2 pods: replicas 1, parallelism and completions 2",
        "2 of 3 pods of hello run",
    ],
    "3": ["hello has no worker with completion index 1"],
    "4": ["fragile: failurePolicy.maxRestarts is 5, and shall be 2", "backoffLimit of worker is 3, and shall be 0", "was never restarted"],
    "5": ["eval: its successPolicy is All of leader, worker, and shall be Any of leader", "eval is not Completed"],
    "6": ["train: the queue label stands in a template of leader", "Kueue has made no Workload for train"],
    "7": ["big: worker is 1 Job of 1 pod, and shall be 1 Job of 4 pods", "big is not suspended", "big has 2 pods", "is admitted"],
}


def test_check_names_what_is_wrong_in_the_cluster(files: Path, cluster: Cluster) -> None:
    """Last of those that share the tour: it makes every JobSet of it wrong."""
    leader = guide.Guide(cluster.lab, files, guide.Console(quiet=True))
    leader.delete("jobset", "hello", "fragile", "eval", "train", "big")
    assert lacking(cluster, files)["5"] == ["there is no JobSet eval in namespace ml"]
    for file in ("big.yaml", "hello.yaml", "fragile.yaml", "eval.yaml", "train.yaml"):  # big first: there is quota for it
        text = leader.manifest(file)
        for old, new in WRONG_JOBSETS[file]:
            assert old in text
            text = text.replace(old, new)
        cluster.kubectl("apply", "--server-side", "--filename=-", given=text)
        if file == "big.yaml":
            cluster.wait("big runs", lambda: len(Look(connect(cluster.lab.kubeconfig)).pods("big")) == 2)

    def as_named() -> bool:
        found = {step: "; ".join(faults) for step, faults in lacking(cluster, files).items()}
        return all(part in found.get(step, "") for step, parts in NAMED.items() for part in parts)

    try:
        cluster.wait("every step named rightly", as_named, 60)
    except AssertionError as error:
        raise AssertionError(json.dumps(lacking(cluster, files), indent=2)) from error
    assert tour(cluster, files, "--check").exit_code == 1
    cluster.kubectl("delete", "jobset", "train", "--namespace=ml", "--cascade=foreground")  # Kueue would stop what JobSet starts
    more = [{"op": "replace", "path": "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota", "value": "9"}]
    cluster.kubectl("patch", "clusterqueue", "ml", "--type=json", f"--patch={json.dumps(more)}")
    assert "ClusterQueue ml has a quota of 9 nvidia.com/gpu, and shall have 3" in lacking(cluster, files)["6"]


def test_run_again_it_gives_the_same_and_leaves_nothing(files: Path, cluster: Cluster, tmp_path: Path) -> None:
    """On top of what the test before left; against a kubeconfig, and only step 8 with what it needs."""
    done = tour(cluster, tmp_path, "--step=8")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "report.json").read_text() == (files / "report.json").read_text()
    assert {path.name for path in tmp_path.iterdir()} == {"restart.txt", "train.yaml", "big.txt", "report.json"}
    for kind in ("namespaces", "clusterqueues", "resourceflavors", "queues.scheduling.volcano.sh"):
        assert "ml" not in {each["metadata"]["name"] for each in cluster.get(kind)["items"]}, kind


def test_a_namespace_of_somebody_elses_is_left_alone(cluster: Cluster, tmp_path: Path) -> None:
    cluster.kubectl("create", "namespace", "ml")
    try:
        done = tour(cluster, tmp_path)
        assert done.exit_code == 1
        assert "there is a Namespace ml that is not the tour's" in done.output
        assert cluster.get("namespace", "ml")["status"]["phase"] == "Active"
    finally:
        cluster.kubectl("delete", "namespace", "ml")


def test_a_step_that_fails_says_the_likely_cause(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An image that is nowhere: the deadline passes, and the reason is that of the pod."""
    folder = tmp_path / "manifests"
    shutil.copytree(guide.FOLDER, folder)
    hello = folder / "hello.yaml"
    hello.write_text(hello.read_text().replace("busybox:1.36", "registry.invalid/nothing:1"))
    monkeypatch.setattr(guide, "FOLDER", folder)
    monkeypatch.setattr(guide, "_SECONDS", 15.0)
    done = tour(cluster, tmp_path / "out", "--step=1")
    assert done.exit_code == 1
    assert "step 1 (Two roles, three pods)" in done.output
    assert "0 of 3 pods of hello run" in done.output
    assert "registry.invalid/nothing:1" in done.output
    assert "ml" not in {each["metadata"]["name"] for each in cluster.get("namespaces")["items"]}
