"""`lab up --kubeconfig`: into a second, bare lab, which is somebody's cluster here. It pulls upstream's images by their names."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from rich.console import Console

from lab import binaries, images, system
from lab.cli import main
from lab.model import Lab
from tests.lab.bare import start, throwaway

pytestmark = [pytest.mark.lab, pytest.mark.long]
MEDIA = {"application/vnd.docker.distribution.manifest.v2+json", "application/vnd.oci.image.manifest.v1+json"}


class Registry(BaseHTTPRequestHandler):
    """Serves what a containerd holds, under the names by which it holds it: the distribution API, reading only."""

    def __init__(self, blobs: Path, digests: dict[str, str], *words: Any) -> None:
        self.blobs, self.digests = blobs, digests
        super().__init__(*words)

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        if path := self._answer():
            with path.open("rb") as content:
                shutil.copyfileobj(content, self.wfile)

    def _answer(self) -> Path | None:
        place, _, query = self.path.partition("?ns=")
        name, _, reference = place.removeprefix("/v2/").rpartition("/")
        digest = reference if ":" in reference else self.digests.get(f"{query}/{name.removesuffix('/manifests')}:{reference}", "")
        path = self.blobs / digest.removeprefix("sha256:")
        if not path.is_file():
            self.send_error(404)
            return None
        self.send_response(200)
        kind = json.loads(path.read_bytes())["mediaType"] if name.endswith("/manifests") else "application/octet-stream"
        for header, value in {"Content-Type": kind, "Content-Length": str(path.stat().st_size), "Docker-Content-Digest": digest}.items():
            self.send_header(header, value)
        self.end_headers()
        return path

    def log_message(self, format: str, *words: Any) -> None:
        pass


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A bare Kubernetes whose registries hold upstream's images, and none else."""
    with throwaway(tmp_path_factory.mktemp("second")) as lab:
        start(lab)
        rendered = [system.render(lab, project) for project in system.PROJECTS]
        names = [name for objects in rendered for name in system.images(objects)]
        images.bring(lab, Console(stderr=True), [images.controller(name) for name in dict.fromkeys(names)])
        listed = [line.split() for line in images._ctr(lab, "images", "ls").splitlines()[1:]]
        blobs = lab.state / "containerd" / "io.containerd.content.v1.content" / "blobs" / "sha256"
        handler = partial(Registry, blobs, {line[0]: line[2] for line in listed})
        with ThreadingHTTPServer((lab.addresses[0], 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            host = lab.state / "registries" / "_default" / "hosts.toml"
            host.parent.mkdir(parents=True, exist_ok=True)
            address = f"http://{lab.addresses[0]}:{server.server_port}"
            host.write_text(f'server = "{address}"\n[host."{address}"]\ncapabilities = ["pull", "resolve"]\n', encoding="utf-8")
            yield lab
            server.shutdown()


def test_a_cluster_that_cannot_be_used_is_refused(second: Lab, tmp_path: Path) -> None:
    admin = yaml.safe_load(second.kubeconfig.read_text(encoding="utf-8"))
    server = admin["clusters"][0]["cluster"]["server"]
    nowhere, nobody = tmp_path / "nowhere", tmp_path / "nobody"
    nowhere.write_text(yaml.safe_dump(admin).replace(server, f"https://{second.addresses[1]}:1"), encoding="utf-8")
    assert "was refused" in _refused("up", nowhere)
    admin["users"][0]["user"] = {"token": system.kubectl(second, "create", "token", "default").strip()}
    nobody.write_text(yaml.safe_dump(admin), encoding="utf-8")
    assert "may not do everything" in _refused("up", nobody)


def test_what_was_not_installed_from_here_stays_as_it_is(second: Lab) -> None:
    """Another version of Kueue and somebody's namespace: refused, all at once; a JobSet of the same version: left alone."""
    jobset = _stranger(second, "jobset", f"mirror.example/jobset/jobset:{_version('jobset')}")
    others = [
        *_stranger(second, "kueue", "registry.k8s.io/kueue/kueue:v0.16.0"),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "training", "labels": {"of": "somebody"}}},
    ]
    _kubectl(second, jobset + others, "apply", "--server-side", "--field-manager=helm", "--filename=-")
    refused = _refused("up", second.kubeconfig)
    assert (
        "kueue is there and was not installed from here (registry.k8s.io/kueue/kueue:v0.16.0 in default/kueue-controller-manager)"
        in refused
    )
    assert "these are there and were not made from here: Namespace training" in refused
    assert "jobset" not in refused
    assert not [each for each in _objects(second, "namespaces") if each["metadata"]["name"] in ("kubeflow-system", "volcano-system")]
    _kubectl(second, others, "delete", "--filename=-", "--wait")
    result = _lab("doctor", "--kubeconfig", str(second.kubeconfig))
    assert result.exit_code == 0, result.output
    assert f"leaves jobset {_version('jobset')} as it is" in result.output
    assert f"installs kueue {_version('kueue')} in kueue-system" in result.output
    _kubectl(second, jobset, "delete", "--filename=-", "--wait")


def test_the_same_versions_from_upstreams_images(second: Lab) -> None:
    before = _objects(second, "nodes")
    result = _lab("up", "--kubeconfig", str(second.kubeconfig))
    assert result.exit_code == 0, result.output
    expected = {
        f"registry.k8s.io/jobset/jobset:{_version('jobset')}",
        f"registry.k8s.io/kueue/kueue:{_version('kueue')}",
        f"ghcr.io/kubeflow/trainer/trainer-controller-manager:{_version('trainer')}",
        *(f"docker.io/volcanosh/vc-{name}:{_version('volcano')}" for name in ("controller-manager", "scheduler", "webhook-manager")),
    }
    assert set(system.images(_objects(second, "deployments"))) == expected
    for each in _objects(second, "deployments"):
        assert _conditions(each)["Available"] == "True"
    # nothing is the lab's own there: no pull policy, no device, no folder of its node
    [kueue] = [each for each in _objects(second, "deployments") if each["metadata"]["name"] == "kueue-controller-manager"]
    assert kueue["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] == "Always"
    assert [each["status"]["capacity"] for each in _objects(second, "nodes")] == [each["status"]["capacity"] for each in before]
    assert not _objects(second, "persistentvolumes")
    assert {each["metadata"]["name"] for each in _objects(second, "localqueues")} == {"training"}
    assert len(_objects(second, "clustertrainingruntimes")) == 4


@pytest.mark.parametrize(("command", "expected"), [("status", "volcano-scheduler"), ("logs", "webhook")])
def test_looking_into_it(second: Lab, command: str, expected: str) -> None:
    words = ["logs", "kueue"] if command == "logs" else [command]
    done = subprocess.run(
        [sys.executable, "-m", "lab.cli", *words, "--kubeconfig", second.kubeconfig],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert expected in done.stdout


def test_again_changes_nothing(second: Lab) -> None:
    kinds = "deployments,configmaps,crds,mutatingwebhookconfigurations,clusterqueues,clustertrainingruntimes"
    before = {each["metadata"]["uid"]: each["metadata"].get("generation") for each in _objects(second, kinds)}
    result = _lab("up", "--kubeconfig", str(second.kubeconfig))
    assert result.exit_code == 0, result.output
    assert "installs again kueue" in result.output
    after = {each["metadata"]["uid"]: each["metadata"].get("generation") for each in _objects(second, kinds)}
    assert {uid: after.get(uid) for uid in before} == before


def test_down_removes_nothing_from_it(second: Lab) -> None:
    assert "nothing is removed" in _refused("down", second.kubeconfig)


def _stranger(second: Lab, name: str, image: str) -> list[dict[str, Any]]:
    """As much of another installation of a project as it takes to be one: a kind, and a Deployment without pods in some namespace."""
    project = next(each for each in system.PROJECTS if each.name == name)
    rendered = system.render(second, project)
    kind = next(
        each
        for each in rendered
        if each["kind"] == "CustomResourceDefinition" and each["spec"]["names"]["kind"] in ("ClusterQueue", "JobSet")
    )
    kind["spec"]["versions"] = [{**kind["spec"]["versions"][0], "served": True, "storage": True}]  # Kueue's before v1beta2
    deployment = next(each for each in rendered if each["kind"] == "Deployment")
    deployment["metadata"]["namespace"] = "default"
    deployment["spec"]["replicas"] = 0
    deployment["spec"]["template"]["spec"]["containers"][0]["image"] = image
    return [kind, deployment]


def _lab(*words: str) -> Result:
    return CliRunner().invoke(main, words)


def _refused(command: str, kubeconfig: Path) -> str:
    result = _lab(command, "--kubeconfig", str(kubeconfig))
    assert result.exit_code == 1, result.output
    return result.output


def _version(name: str) -> str:
    return binaries.modules()[name].version


def _kubectl(second: Lab, objects: list[dict[str, Any]], *words: str) -> None:
    text = yaml.safe_dump_all(objects)
    done = subprocess.run(system.command(second, *words), input=text, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


def _objects(second: Lab, kinds: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(system.kubectl(second, "get", kinds, "--all-namespaces", "--output=json"))["items"]
    return found


def _conditions(each: dict[str, Any]) -> dict[str, str]:
    return {condition["type"]: condition["status"] for condition in each["status"].get("conditions", [])}
