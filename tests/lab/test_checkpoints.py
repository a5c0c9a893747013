"""Where a gang keeps its checkpoints, and where it begins after a restart: the claims of run/checkpoints-kept, at the real controllers.

As in test_gate_and_cluster each fault is an edit of a repository's runtime and a small run of it, and all start together.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gate.evaluate import Evaluator
from tests.lab.conftest import Cluster
from tests.lab.live import Manifest, Namespace
from tests.lab.test_gate_and_cluster import Fault, made, together
from tests.lab.test_roles import told

FOLDER = "test-checkpoints"  # on the volume behind the claim, which the namespaces of all tests share
CLAIM = "                - name: checkpoints\n                  persistentVolumeClaim:\n                    claimName: checkpoints\n"
MOUNT = "                  - mountPath: /workspace/checkpoints\n"
# Worker 0 goes on at the step that it finds, saves five steps later and loses its first attempt.
STEPS = """
import json, os, pathlib, sys
saved = pathlib.Path(os.environ["CHECKPOINT_DIR"], "step")
if json.loads(os.environ["TF_CONFIG"])["task"]["index"] == 0:
    step = int(saved.read_text()) if saved.exists() else 0
    saved.parent.mkdir(parents=True, exist_ok=True)
    saved.write_text(str(step + 5))
    print("from step", step, "to step", saved.read_text())
    sys.exit(1 if os.environ["TFRUN_ATTEMPT"] == "0" else 0)
"""
pytestmark = pytest.mark.lab


def fault(*edits: tuple[str, str]) -> Fault:
    run = {"env": {"CHECKPOINT_DIR": f"/workspace/checkpoints/{FOLDER}"}}
    return Fault(rules={"run/checkpoints-kept"}, given=[("maxRestarts: 3", "maxRestarts: 1")], edits=[*edits], script=STEPS, run=run)


FAULTS = {
    "empty": fault((CLAIM, "                - name: checkpoints\n                  emptyDir: {}\n")),
    "own-files": fault((f"value: /workspace/checkpoints/{FOLDER}", f"value: /var/tmp/{FOLDER}")),
    "read-only": fault((MOUNT, f"{MOUNT}                    readOnly: true\n")),
}
KEPT = "empty-sound"


@pytest.fixture(scope="module")
def runs(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Namespace]:
    """All faults and a run on the claim, started together."""
    kept = cluster.lab.state / "checkpoints" / FOLDER
    shutil.rmtree(kept, ignore_errors=True)

    def objects(namespace: str) -> list[Manifest]:
        faults = [each for name in FAULTS for each in made(name, namespace, of=FAULTS[name])]
        return [*faults, *made("empty", namespace, sound=True, of=FAULTS["empty"])]

    with together(cluster, request, objects) as namespace:
        yield namespace
    shutil.rmtree(kept, ignore_errors=True)


@pytest.mark.parametrize("name", FAULTS)
def test_the_gate_tells_the_fault_and_nothing_else(name: str, tmp_path: Path, opa: Evaluator) -> None:
    told(name, FAULTS[name], tmp_path, opa)


def test_on_a_claim_a_restarted_gang_goes_on_where_it_saved(runs: Namespace) -> None:
    runs.complete(KEPT)
    assert runs.jobset(KEPT)["status"]["restarts"] == 1
    assert "from step 5 to step 10\n" in runs.logs(KEPT)


@pytest.mark.parametrize("name", ["empty", "own-files"])
def test_what_goes_with_the_pod_is_saved_in_vain(name: str, runs: Namespace) -> None:
    runs.complete(name)
    assert runs.jobset(name)["status"]["restarts"] == 1
    assert "from step 0 to step 5\n" in runs.logs(name)


def test_on_a_mount_that_is_only_read_nothing_can_be_saved(runs: Namespace) -> None:
    runs.wait("the run ended", lambda: runs.ended("read-only") == "Failed")
    assert "OSError: [Errno 30] Read-only file system" in runs.logs("read-only")
