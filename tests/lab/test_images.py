"""What rules say of images, with images of the tests' own in the lab's containerd: nothing is pulled."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from gate import tools
from gate.evaluate import Evaluator
from lab import doctor
from tests.conftest import ROOT
from tests.lab.live import Cluster, Manifest, Namespace
from tests.lab.test_gate_and_cluster import findings

pytestmark = pytest.mark.lab
MOVING = "localhost/test-moving:latest"
PROGRAM = 'package main\n\nfunc main() { println("runs") }\n'


def bring(cluster: Cluster, name: str, files: Mapping[str, bytes], entrypoint: list[str], architecture: str = "amd64") -> None:
    """An image of one layer, as a docker archive. One of the same name loses it."""
    layer = archive({path: (0o755, content) for path, content in files.items()})
    layers = {"type": "layers", "diff_ids": [f"sha256:{digest(layer)}"]}
    config = json.dumps({"architecture": architecture, "os": "linux", "rootfs": layers, "config": {"Entrypoint": entrypoint}}).encode()
    manifest = json.dumps([{"Config": f"{digest(config)}.json", "RepoTags": [name], "Layers": [f"{digest(layer)}.tar"]}]).encode()
    content = {f"{digest(layer)}.tar": layer, f"{digest(config)}.json": config, "manifest.json": manifest}
    words = [*containerd(cluster), "images", "import", "--all-platforms", "-"]
    subprocess.run(words, input=archive({path: (0o644, data) for path, data in content.items()}), check=True, capture_output=True)


def archive(files: Mapping[str, tuple[int, bytes]]) -> bytes:
    """A tar of files, each with its mode."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as tar:
        for path, (mode, content) in files.items():
            info = tarfile.TarInfo(path)
            info.size, info.mode = len(content), mode
            tar.addfile(info, io.BytesIO(content))
    return written.getvalue()


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def containerd(cluster: Cluster) -> list[str]:
    return ["ctr", f"--address={cluster.lab.state}/containerd.sock", "--namespace=k8s.io"]


@contextlib.contextmanager
def forgotten(cluster: Cluster, name: str) -> Iterator[None]:
    """An image that is gone afterwards."""
    try:
        yield
    finally:
        subprocess.run([*containerd(cluster), "images", "rm", name], check=False, capture_output=True)


def jobset(name: str, image: str) -> Manifest:
    """A gang of two pods of an image, which restarts twice."""
    container = {"name": "main", "image": image, "imagePullPolicy": "IfNotPresent"}
    pod = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "automountServiceAccountToken": False, "containers": [container]}
    job = {"parallelism": 2, "completions": 2, "backoffLimit": 0, "template": {"spec": pod}}
    spec = {"failurePolicy": {"maxRestarts": 2}, "replicatedJobs": [{"name": "main", "template": {"spec": job}}]}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": name}, "spec": spec}


def warned(made: Manifest, folder: Path, opa: Evaluator) -> set[str]:
    """The rules about images that warn of it where the lab's nodes are said to be what they are."""
    facts = folder / "cluster.yaml"
    said = (ROOT / "clusters/lab/cluster.yaml").read_text(encoding="utf-8")
    facts.write_text(said.replace("{pool: lab,", "{pool: lab, architecture: amd64,"), encoding="utf-8")
    there = {**made, "metadata": {**made["metadata"], "namespace": "somewhere"}}
    return {finding.rule for finding in findings([there], folder / "run.yaml", opa, facts) if finding.rule.startswith("images/")}


def said(namespace: Namespace, run: str) -> list[str]:
    """What each of a run's two pods has written; nothing as long as one is not there."""
    with contextlib.suppress(subprocess.CalledProcessError):
        return [namespace.kubectl("logs", pod["metadata"]["name"]) for pod in namespace.pods(run)]
    return []


def test_after_its_tag_has_moved_a_gang_restarts_as_another_program(namespace: Namespace, tmp_path: Path, opa: Evaluator) -> None:
    assert warned(jobset("moves", MOVING), tmp_path, opa) == {"images/pinned"}
    shell = doctor.BUSYBOX.read_bytes()
    entrypoint = ["/busybox", "sh", "-c", "/busybox cat /version; exec /busybox sleep 3600"]
    with forgotten(namespace.cluster, MOVING):
        bring(namespace.cluster, MOVING, {"busybox": shell, "version": b"first\n"}, entrypoint)
        namespace.apply(jobset("moves", MOVING))
        namespace.wait("both run", lambda: said(namespace, "moves") == ["first\n", "first\n"])
        bring(namespace.cluster, MOVING, {"busybox": shell, "version": b"second\n"}, entrypoint)
        assert said(namespace, "moves") == ["first\n", "first\n"]
        namespace.kubectl("delete", "pod", namespace.pods("moves")[0]["metadata"]["name"], "--wait=false")  # as a lost node does
        namespace.wait("both run again", lambda: said(namespace, "moves") == ["second\n", "second\n"])
        assert namespace.jobset("moves")["status"]["restarts"] == 1


NUMBER = "0123456789abcdef" * 4
UNREADABLE = [
    *("localhost/Test:1", "Test:1", "localhost/test:1 r8", "https://localhost/test:1", NUMBER, "localhost/test@sha256:0a1b"),
    *(f"localhost/test@sha256:{NUMBER.upper()}", f"localhost/test@md5:{NUMBER}", "localhost/test:", "localhost/test:1+r8"),
    *(
        f"localhost/test:{NUMBER * 2}0",
        "localhost//test:1",
        "localhost:port/test:1",
        "local_host:5000/test:1",
        "/test:1",
        "test_:1",
        "test:1:2",
    ),
]
READABLE = [
    *("test", "localhost/test:1_R8.-x", "team/test__gpu:1", "a-registry.example:5000/team/test--gpu.x_y:LATEST", "localhost:5000/test"),
    *("Registry/test:1", "[::1]:5000/test:1", "10.0.0.1/test:1", f"localhost/test:1@sha256:{NUMBER}", f"test@sha512:{NUMBER * 2}"),
    f"test:{NUMBER * 2}",
]


def test_what_the_kubelet_cannot_read_waits_for_ever(namespace: Namespace, tmp_path: Path, opa: Evaluator) -> None:
    """Each image in a container of its own, all in one pod: none is pulled, and the kubelet says of each why."""
    images = [*UNREADABLE, *READABLE]
    run = jobset("names", images[0])
    (job,) = run["spec"]["replicatedJobs"]
    job["template"]["spec"] |= {"parallelism": 1, "completions": 1}
    pod = job["template"]["spec"]["template"]["spec"]
    pod["containers"] = [{"name": f"c{i}", "image": image, "imagePullPolicy": "Never"} for i, image in enumerate(images)]
    there = {**run, "metadata": {**run["metadata"], "namespace": "somewhere"}}
    found = [each for each in findings([there], tmp_path / "run.yaml", opa) if each.rule == "images/readable"]
    assert {each.severity for each in found} == {"error"}
    assert [image for image in images if any(f"image {image} cannot be read" in each.message for each in found)] == UNREADABLE
    namespace.apply(run)

    def reasons() -> list[str]:
        statuses = [each for pod in namespace.pods("names") for each in pod["status"].get("containerStatuses", [])]
        told = {each["name"]: each["state"].get("waiting", {}).get("reason", "") for each in statuses}
        return [told.get(f"c{i}", "") for i in range(len(images))]

    expected = ["InvalidImageName"] * len(UNREADABLE) + ["ErrImageNeverPull"] * len(READABLE)
    namespace.wait("the kubelet has looked at all", lambda: set(reasons()) <= set(expected))
    assert reasons() == expected


@pytest.mark.parametrize("architecture", ["arm64", "amd64"])
def test_an_image_of_another_architecture_ends_at_once(architecture: str, namespace: Namespace, tmp_path: Path, opa: Evaluator) -> None:
    foreign, image = architecture == "arm64", f"localhost/test-architecture:1-{architecture}"
    assert warned(jobset("built", image), tmp_path, opa) == ({"images/architecture"} if foreign else set())
    assert namespace.cluster.get("node", "lab")["metadata"]["labels"]["kubernetes.io/arch"] == "amd64"
    (tmp_path / "main.go").write_text(PROGRAM, encoding="utf-8")
    words = [tools.go(), "build", "-ldflags=-s -w", "-o", tmp_path / "program", tmp_path / "main.go"]
    subprocess.run(words, env={**os.environ, "CGO_ENABLED": "0", "GOARCH": architecture}, check=True)
    with forgotten(namespace.cluster, image):
        bring(namespace.cluster, image, {"program": (tmp_path / "program").read_bytes()}, ["/program"], architecture)
        namespace.apply(jobset("built", image))
        expected = "exec /program: exec format error\n" if foreign else "runs\n"
        namespace.wait(f"it says {expected}", lambda: expected in said(namespace, "built"))
        namespace.wait("its end", lambda: namespace.condition("jobset", "built", "Failed" if foreign else "Completed") is not None)
