"""The one lab that all tests marked `lab` share; they run only when asked for: `make test-lab`."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from lab import doctor, model, system
from lab import up as engine


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """The running lab, as tests use it."""

    lab: model.Lab

    def kubectl(self, *words: str | Path) -> str:
        return system.kubectl(self.lab, *(str(word) for word in words), timeout=120)

    def get(self, *words: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.kubectl("get", *words, "--output=json"))
        return found

    def wait(self, what: str, reached: Callable[[], bool], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not reached():
            assert time.monotonic() < deadline, f"{what}: not reached in {seconds:.0f} s"
            time.sleep(1)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "lab: needs the running lab; only with -m lab (make test-lab)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves the lab's tests out unless -m names them."""
    if "lab" in str(config.getoption("-m")):
        return
    left_out = [item for item in items if item.get_closest_marker("lab")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("lab")]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """The lab of this checkout; it is left up where it was up before."""
    if faults := doctor.faults():
        reason = "; ".join(faults)
        pytest.fail(reason) if os.environ.get("LAB") == "required" else pytest.skip(reason)
    mine = model.lab()
    before = mine.kubeconfig.exists()
    engine.up(mine, Console(stderr=True))
    yield Cluster(lab=mine)
    if not before:
        engine.down(mine)


@pytest.fixture
def diagnostics(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[None]:
    """What a failure leaves behind: pods, events and logs of the namespace training, beside the lab's own logs."""
    failed = request.session.testsfailed
    yield
    if request.session.testsfailed > failed:
        folder = cluster.lab.state / "diagnostics" / request.node.name
        folder.mkdir(parents=True, exist_ok=True)
        for name, words in {
            "objects": ["get", "trainjobs,jobsets,jobs,pods,workloads,podgroups,events", "--output=yaml"],
            "logs": ["logs", "--selector=jobset.sigs.k8s.io/jobset-name", "--prefix", "--tail=-1", "--max-log-requests=50"],
        }.items():
            command = system.command(cluster.lab, *words, "--namespace=training")
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            (folder / name).write_text(done.stdout + done.stderr, encoding="utf-8")
