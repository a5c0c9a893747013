"""What of the lab needs no lab: versions that agree, names and addresses, generated configuration."""

from __future__ import annotations

import io
import ipaddress
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from rich.console import Console

from gate import schemas
from lab import binaries, doctor, images, model, node, system, up, watch
from lab.cli import main
from lab.model import Lab, facts

ADDON = """apiVersion: v1
kind: ConfigMap
metadata: {name: coredns}
data:
  Corefile: |
    .:53 {
        errors
        ready
        kubernetes cluster.local in-addr.arpa ip6.arpa {
           pods insecure
           ttl 30
        }
        forward . /etc/resolv.conf {
           max_concurrent 1000
        }
        cache 30
        loop
        reload
    }
"""
COREFILE = """.:53 {
    bind 10.88.0.1
    errors
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       kubeconfig /etc/kubernetes/coredns.conf
       pods insecure
       ttl 30
    }
    file /run/lab/nothing.zone .
    cache 30
    reload
}
"""


def test_cluster_yaml_names_the_pinned_versions() -> None:
    for component, version in facts()["versions"].items():
        pinned = binaries.modules()[component].version.removeprefix("v")
        assert pinned == version or (component == "kubernetes" and pinned.startswith(f"{version}."))


def test_the_gate_knows_the_schemas_of_the_pinned_versions() -> None:
    sources = schemas.sources()
    for component in facts()["versions"]:
        pinned = binaries.modules()[component]
        assert sources[component].module == pinned.path
        assert pinned.version.removeprefix("v") in sources[component].versions


def test_every_module_is_locked_and_builds_something() -> None:
    for module in binaries.modules().values():
        assert f"{module.path} {module.version} h1:" in (module.folder / "go.sum").read_text(encoding="utf-8")
        assert module.programs


def test_every_project_has_a_module() -> None:
    assert {project.name for project in system.PROJECTS} <= set(binaries.modules())


def test_two_checkouts_share_nothing() -> None:
    one, two = Lab(root=Path("/one")), Lab(root=Path("/two"))
    for each in ("id", "state", "cgroup", "interface", "addresses"):
        assert getattr(one, each) != getattr(two, each)


def test_the_lab_of_a_deleted_checkout_goes_and_no_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    here, gone, unnamed, of_another = (Lab(root=tmp_path / name) for name in ("here", "gone", "unnamed", "another"))
    for each in (here, gone, unnamed, of_another):
        (each.state / "containerd").mkdir(parents=True)
    here.root.mkdir()
    for lab, root in {here: here.root, gone: gone.root, of_another: gone.root}.items():
        (lab.state / up.CHECKOUT).write_text(str(root), encoding="utf-8")
    console = Console(file=io.StringIO())
    up.clear(console)
    assert [each.state.exists() for each in (here, gone, unnamed, of_another)] == [True, False, True, True]
    assert console.file.getvalue() == f"removed the lab of {gone.root}, which is gone\n"  # type: ignore[attr-defined]


def test_only_what_is_not_there_yet_needs_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=0))
    words = "GiB of disk are needed for"
    [found] = [each for each in doctor.faults() if words in each]
    assert found.startswith(f"{doctor.PROGRAMS + doctor.IMAGES + doctor.REST} {words} programs and images, ")
    (model.lab().state / "containerd").mkdir(parents=True)
    monkeypatch.setattr("lab.binaries.missing", list)
    [found] = [each for each in doctor.faults() if words in each]
    assert found.startswith(f"{doctor.REST} {words} what the lab writes, ")


def test_the_link_fits_the_kernel_and_stays_on_the_machine() -> None:
    for number in range(1000):
        lab = Lab(root=Path(f"/checkouts/{number}"))
        outside, inside = (ipaddress.ip_interface(f"{address}/30") for address in lab.addresses)
        assert len(lab.interface) <= 15
        assert outside.network == inside.network
        assert outside.is_link_local
        assert {outside.ip, inside.ip} == set(outside.network.hosts())
        assert not outside.ip.exploded.startswith("169.254.169.")  # where clouds keep their metadata


def test_the_corefile_is_kubeadms_without_a_way_out() -> None:
    assert node.corefile(ADDON) == COREFILE


def test_the_control_plane_runs_with_kubeadms_own_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "binary", lambda name: Path("/bin") / name)
    for name in ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"):
        pod = {"spec": {"containers": [{"command": [name, "--made-by=kubeadm"]}]}}
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(pod), encoding="utf-8")
    found = node.programs(tmp_path)
    assert found["kube-apiserver"] == ["/bin/kube-apiserver", "--made-by=kubeadm"]
    assert set(found) == {
        *("containerd", "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"),
        *("kubelet", "kube-proxy", "coredns", "git-daemon"),
    }


def test_supervisord_gets_its_words_as_they_are() -> None:
    config = node.supervisord({"etcd": ["/bin/etcd", '--name=a "b" 100%']})
    assert config["program:etcd"]["command"] == r'"/bin/etcd" "--name=a \"b\" 100%%"'


def test_images_are_found_wherever_they_are_named_but_in_schemas() -> None:
    pod = {"containers": [{"name": "node", "image": "example/a:1"}], "initContainers": [{"name": "x", "image": "example/b:1"}]}
    objects = [
        {"kind": "ClusterTrainingRuntime", "spec": {"template": {"spec": pod}}},
        {"kind": "CustomResourceDefinition", "spec": {"name": "c", "image": "example/c:1"}},
    ]
    assert system.images(objects) == ["example/a:1", "example/b:1"]


def test_the_runtimes_ask_for_one_image() -> None:
    assert len(system.images(system.folder("runtimes"))) == 1
    assert images.TENSORFLOW["2.15"] is None


def test_a_command_without_a_lab_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("lab.cli.lab", lambda: Lab(root=tmp_path))
    result = CliRunner().invoke(main, ["kubectl", "get", "nodes"], catch_exceptions=False)
    assert (result.exit_code, result.stderr) == (1, "lab: the lab is not running: `lab up`\n")


def test_kubectl_gets_every_word(monkeypatch: pytest.MonkeyPatch) -> None:
    words: list[str] = []
    monkeypatch.setattr("lab.cli._running", lambda: Lab(root=Path("/nowhere")))
    monkeypatch.setattr("lab.cli._exec", lambda mine, *given: words.extend(given))
    CliRunner().invoke(main, ["kubectl", "exec", "pod", "--help", "--", "ls", "-l"], catch_exceptions=False)
    assert words == ["exec", "pod", "--help", "--", "ls", "-l"]


def test_the_doctor_names_every_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    result = CliRunner().invoke(main, ["doctor"], catch_exceptions=False)
    assert result.exit_code == 1
    for package in ("conntrack", "containerd", "iproute2", "iptables", "mmdebstrap", "mount", "runc", "util-linux"):
        assert f" {package}" in result.output


def test_the_doctor_tries_what_the_kernel_must_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With an iptables that can do nothing, as on a kernel without it."""
    if faults := doctor.faults():
        pytest.skip("; ".join(faults))
    broken = tmp_path / "iptables"
    broken.write_text("#!/bin/sh\necho no chain by that name >&2; exit 1\n", encoding="utf-8")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = doctor.faults()
    assert len(found) == 5
    assert all("this kernel lacks iptables'" in fault and "no chain by that name" in fault for fault in found)


def _object(kind: str, name: str, spec: dict[str, Any], status: dict[str, Any]) -> dict[str, Any]:
    owner = {"kind": "TrainJob", "name": name.removeprefix("of-")}
    return {"kind": kind, "metadata": {"name": name, "namespace": "training", "ownerReferences": [owner]}, "spec": spec, "status": status}


def test_watch_says_why_a_run_waits_and_how_far_it_is() -> None:
    said = "insufficient quota for\n nvidia.com/gpu"
    metrics = [{"name": "accuracy", "value": "0.91"}]
    objects = [
        _object("TrainJob", "held", {"suspend": True}, {}),
        _object("Workload", "of-held", {}, {"conditions": [{"type": "QuotaReserved", "status": "False", "message": said}]}),
        _object("TrainJob", "gang", {}, {}),
        _object("PodGroup", "of-gang", {}, {"phase": "Pending", "conditions": [{"type": "Unschedulable", "message": "3/4 tasks in gang"}]}),
        _object(
            "TrainJob",
            "runs",
            {},
            {"jobsStatus": [{"active": 1, "ready": 1}], "trainerStatus": {"progressPercentage": 40, "metrics": metrics}},
        ),
        _object("Workload", "of-runs", {}, {"conditions": [{"type": "Admitted", "status": "True"}]}),
        _object("TrainJob", "lost", {}, {"conditions": [{"type": "Failed", "status": "True", "message": "restarts"}]}),
    ]
    assert [row[1:] for row in watch.rows(objects)] == [
        ("training/held", "waits", "insufficient quota for nvidia.com/gpu"),
        ("training/gang", "waits", "3/4 tasks in gang"),
        ("training/runs", "trains", "40 %, accuracy 0.91"),
        ("training/lost", "Failed", "restarts"),
    ]


def test_the_tour_checks_the_eight_steps_only(tmp_path: Path) -> None:
    (tmp_path / "config").touch()
    done = CliRunner().invoke(main, ["tour", "jobset", "--check", "--step=queue-label", f"--kubeconfig={tmp_path / 'config'}"])
    assert done.exit_code == 2
    assert "--check knows the eight steps only (1, 2, 3, 4, 5, 6, 7, 8)" in " ".join(done.output.split())
