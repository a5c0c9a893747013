"""The cluster's own runs, in the lab."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.lab.conftest import Cluster

RUNS = ("reference-kueue", "reference-volcano-ib")
pytestmark = pytest.mark.lab


@pytest.mark.usefixtures("diagnostics")
@pytest.mark.parametrize("name", RUNS)
def test_a_run_trains_to_its_end(name: str, cluster: Cluster, root: Path) -> None:
    run = root / "clusters" / "lab" / "runs" / name
    cluster.kubectl("delete", "--ignore-not-found", f"--kustomize={run}", "--wait")
    cluster.kubectl("apply", f"--kustomize={run}")
    try:
        cluster.wait(f"{name} complete", lambda: _condition(cluster, name) in ("Complete", "Failed"), seconds=900)
        words = cluster.kubectl("logs", f"job/{name}-node-0", "--namespace=training", "--all-pods", "--tail=-1")
        assert _condition(cluster, name) == "Complete", words
        accuracy = re.search(r"Test Accuracy: (0\.\d+)", words)
        assert accuracy and float(accuracy[1]) > 0.6
        status = cluster.get("trainjob", name, "--namespace=training")["status"]["trainerStatus"]
        assert status["progressPercentage"] == 100
    finally:
        cluster.kubectl("delete", "--ignore-not-found", f"--kustomize={run}")
        shutil.rmtree(cluster.lab.state / "checkpoints" / name, ignore_errors=True)


def _condition(cluster: Cluster, name: str) -> str:
    status = cluster.get("trainjob", name, "--namespace=training").get("status", {})
    return next((each["type"] for each in status.get("conditions", []) if each["status"] == "True" and each["type"] != "Suspended"), "")
