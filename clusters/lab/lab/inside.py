"""The first process inside the lab's namespaces: mounts, links, kubeadm; then it becomes supervisord, which keeps all others."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from pathlib import Path

from gate import process
from lab import node
from lab.binaries import binary
from lab.model import BRIDGE, GATEWAY, INSIDE, NODE, SERVICES, Lab, LabError

_PRIVATE = ("/etc", "/home", "/var")  # what the lab's programs write there is gone with it
_FRESH = ("checkpoints", "etcd", "git", "kubelet", "kubernetes", "pods")  # every start is a new cluster; images and logs stay
_HOSTS = Path("/run/hosts")


def main() -> None:
    lab = Lab(root=Path(sys.argv[1]))
    socket.sethostname(NODE)
    _mounts(lab)
    _links()
    _files(lab)
    config = INSIDE / "supervisord.conf"
    os.execv(sys.executable, [sys.executable, "-m", "supervisor.supervisord", "--configuration", str(config)])  # noqa: S606


def _mounts(lab: Lab) -> None:
    """The state folder is /run/lab, /run is empty, and what is written to /etc, /home and /var stays in the lab."""
    for name in _FRESH:
        shutil.rmtree(lab.state / name, ignore_errors=True)
    for name in (*_FRESH, "containerd", "logs"):
        (lab.state / name).mkdir(exist_ok=True)
    _mount("--bind", str(lab.state), "/mnt")
    _mount("-t", "tmpfs", "tmpfs", "/run")
    INSIDE.mkdir()
    _mount("--bind", "/mnt", str(INSIDE))
    process.run(["umount", "/mnt"], timeout=10)
    for path in _PRIVATE:
        _overlay(Path(path))
    for here, there in {"kubernetes": Path("/etc/kubernetes"), "checkpoints": Path("/home/ubuntu/checkpoints")}.items():
        there.mkdir(parents=True, exist_ok=True)
        _mount("--bind", str(INSIDE / here), str(there))
    Path("/home/ubuntu/checkpoints").chmod(0o777)
    data = Path("/home/ubuntu/cifar-10-batches-py")
    data.mkdir(exist_ok=True)
    _mount("--bind", str(INSIDE / "digits"), str(data))


def _overlay(path: Path) -> None:
    """A layer of memory over a folder and nothing over the file systems that are mounted below it."""
    lines = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    below = [point for line in lines if (point := Path(line.split()[1])) != path and point.is_relative_to(path)]
    saved, layer = _HOSTS / path.name, Path("/run/layers") / path.name
    for folder in (saved, layer / "upper", layer / "work"):
        folder.mkdir(parents=True)
    _mount("--rbind", str(path), str(saved))
    _mount("-t", "overlay", "overlay", "-o", f"lowerdir={saved},upperdir={layer}/upper,workdir={layer}/work", str(path))
    for point in below:
        _mount("--bind", str(saved / point.relative_to(path)), str(point))


def _links() -> None:
    for command in (
        "ip link set lo up",
        f"ip link add {BRIDGE} type bridge",
        f"ip address add {GATEWAY}/16 dev {BRIDGE}",
        f"ip link set {BRIDGE} up",
        f"ip route add {SERVICES} dev {BRIDGE}",  # a way out for kube-proxy to rewrite: there is no default route
    ):
        process.run(command.split(), timeout=10)
    # The second: half-closed connections would keep the network for minutes after the lab's last process.
    for name, value in {"ip_forward": "1", "tcp_orphan_retries": "1"}.items():
        Path(f"/proc/sys/net/ipv4/{name}").write_text(value, encoding="utf-8")


def _files(lab: Lab) -> None:
    """Configuration, certificates, kubeconfigs and the control plane's commands: the last two from kubeadm."""
    node.write(lab)
    for phase in ("certs all", "kubeconfig all", "control-plane all", "etcd local"):
        _kubeadm("init", "phase", *phase.split())
    for user, group in {"kube-proxy": "", "coredns": "system:serviceaccounts"}.items():
        name = f"system:serviceaccount:kube-system:{user}" if group else f"system:{user}"
        words = ["--client-name", name, *(["--org", group] if group else [])]
        target = Path(f"/etc/kubernetes/{user}.conf")
        target.write_text(_kubeadm("kubeconfig", "user", *words), encoding="utf-8")
        target.chmod(0o600)
    addon = _kubeadm("init", "phase", "addon", "coredns", "--print-manifest")
    (INSIDE / "coredns.yaml").write_text(addon, encoding="utf-8")
    (INSIDE / "Corefile").write_text(node.corefile(addon), encoding="utf-8")
    with (INSIDE / "supervisord.conf").open("w", encoding="utf-8") as file:
        node.supervisord(node.programs(Path("/etc/kubernetes/manifests"))).write(file)


def _kubeadm(*words: str) -> str:
    return process.run([binary("kubeadm"), *words, "--config", INSIDE / "kubeadm.yaml"], timeout=120)


def _mount(*words: str) -> None:
    process.run(["mount", *words], timeout=30)


if __name__ == "__main__":
    try:
        main()
    except LabError as fault:
        sys.exit(f"lab: {fault}")
