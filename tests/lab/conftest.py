"""The one lab that all tests marked `lab` share, and a namespace of its own for each test."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from lab import doctor, model, system
from lab import up as engine
from tests.lab.live import Cluster, Manifest, Namespace, surroundings

_WHAT = "trainjobs,jobsets,jobs,pods,workloads,podgroups,localqueues,events"


_faults = functools.cache(doctor.faults)  # before the first lab of these tests took its room


def can_hold_a_lab() -> None:
    """Skips or fails a test where the machine can hold no lab."""
    if faults := _faults():
        reason = "; ".join(faults)
        pytest.fail(reason) if os.environ.get("LAB") == "required" else pytest.skip(reason)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """The lab of this checkout; it is left up where it was up before."""
    can_hold_a_lab()
    mine = model.lab()
    before = mine.kubeconfig.exists()
    engine.up(mine, Console(stderr=True), push=False)
    yield Cluster(lab=mine)
    if not before:
        engine.down(mine)


@pytest.fixture
def namespace(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Namespace]:
    """An empty namespace with its own quota; what a failed test leaves in it is saved before it goes."""
    with own(cluster, request) as made:
        yield made


@contextlib.contextmanager
def own(cluster: Cluster, request: pytest.FixtureRequest, end: str = "") -> Iterator[Namespace]:
    """What `namespace` gives, for fixtures of any scope: named after the test, or after the module that shares it.

    Several of one test differ in their `end`.
    """
    name = f"test-{hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:8]}{end}"
    objects = surroundings(name)
    _remove(cluster, name)
    cluster.apply(*objects)
    failed = request.session.testsfailed
    yield Namespace(cluster=cluster, name=name)
    if request.session.testsfailed > failed:
        save(cluster, name, request.node.name)
    _remove(cluster, name, wait=False)


@contextlib.contextmanager
def present(cluster: Cluster, *objects: Manifest) -> Iterator[None]:
    """Objects that are there meanwhile."""
    try:
        cluster.apply(*objects)
        yield
    finally:
        cluster.kubectl("delete", "--ignore-not-found", "--wait=false", "--filename=-", given=yaml.safe_dump_all(objects))


@contextlib.contextmanager
def running(command: list[str | Path], log: Path) -> Iterator[None]:
    """A program that runs meanwhile; one that ends by itself fails what needs it, with its log."""
    with log.open("wb") as sink:
        mortal = ["setpriv", "--pdeathsig=KILL", *map(str, command)]  # it does not outlive tests that are killed
        process = subprocess.Popen(mortal, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink)
        try:
            yield
            assert process.poll() is None, log.read_text(encoding="utf-8")[-3000:]
        finally:
            process.kill()
            process.wait()


@contextlib.contextmanager
def devices(cluster: Cluster, resource: str, count: int) -> Iterator[Callable[[int], None]]:
    """The node has so many of an extended resource meanwhile, and as many as this is called with, as if a node came up."""

    def patch(operation: Manifest) -> None:
        parts = [f"/status/{part}/{resource.replace('/', '~1')}" for part in ("capacity", "allocatable")]
        changes = json.dumps([{"path": path, **operation} for path in parts])  # of the second the kubelet would think by itself, later
        cluster.kubectl("patch", "node", model.NODE, "--subresource=status", "--type=json", f"--patch={changes}")

    def room(count: int) -> None:
        patch({"op": "add", "value": str(count)})

    room(count)
    try:
        yield room
    finally:
        patch({"op": "remove"})


@pytest.fixture
def diagnostics(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[None]:
    """What a failed test in the namespace `training` leaves behind is saved."""
    failed = request.session.testsfailed
    yield
    if request.session.testsfailed > failed:
        save(cluster, "training", request.node.name)


def save(cluster: Cluster, namespace: str, test: str) -> Path:
    """Writes a namespace's objects, events and pods' logs into the lab's folder `diagnostics`."""
    folder = cluster.lab.state / "diagnostics" / test.replace("/", "-")
    folder.mkdir(parents=True, exist_ok=True)
    for name, words in {
        "objects.yaml": ["get", _WHAT, "--output=yaml"],
        "pods.log": ["logs", "--selector=jobset.sigs.k8s.io/jobset-name", "--prefix", "--tail=-1", "--max-log-requests=50"],
    }.items():
        done = subprocess.run(system.command(cluster.lab, *words, f"--namespace={namespace}"), capture_output=True, text=True, check=False)
        (folder / name).write_text(done.stdout + done.stderr, encoding="utf-8")
    return folder


def _remove(cluster: Cluster, name: str, *, wait: bool = True) -> None:
    """Runs first, while their queue is there to release them: afterwards their devices are free, whatever `wait` says.

    TrainJobs in the background: of one that is being deleted Trainer makes the JobSet again.
    """
    with contextlib.suppress(subprocess.CalledProcessError):  # no such namespace
        for kind, cascade in {"trainjobs": "background", "jobsets": "foreground"}.items():
            cluster.kubectl("delete", kind, "--all", f"--namespace={name}", f"--cascade={cascade}", "--timeout=120s")
    for kind in ("namespace", "clusterqueue", "persistentvolume"):
        cluster.kubectl("delete", "--ignore-not-found", f"--wait={str(wait).lower()}", "--timeout=180s", kind, name)
