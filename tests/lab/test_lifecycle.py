"""The lab's beginning and end: after any kill `lab up` just works and `lab down` leaves nothing; two labs do not meet."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import doctor, node, space, system
from lab import up as engine
from lab.model import Lab
from tests.lab.bare import start, throwaway

pytestmark = [pytest.mark.lab, pytest.mark.long]
UP = "import sys; from pathlib import Path; from rich.console import Console; from lab import model, up; "
UP += "up.up(model.Lab(root=Path(sys.argv[1])), Console(stderr=True), deploy=False)"
ELSEWHERE = ("/etc/cni", "/etc/kubernetes", "/run/containerd", "/run/netns", "/var/lib/cni", "/var/lib/containerd", "/var/lib/kubelet")
OTHERS = re.compile(r"tf-lab-|lab-[0-9a-f]{10}$")  # cgroups and links of labs
HERE = ("127.", "[::1]", "169.254.", "[fe80:")
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "pod", "namespace": "default"},
    "spec": {"containers": [{"name": "pod", "image": node.SANDBOX}], "terminationGracePeriodSeconds": 0},
}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """All tests but the first begin and end it; whatever they did to it, nothing is left of it."""
    with throwaway(tmp_path_factory.mktemp("lab")) as lab:
        before = machine(lab)
        yield lab
        engine.down(lab)
        nothing_left(before, lab)


def test_down_leaves_nothing(tmp_path: Path) -> None:
    """And what the machine runs itself stays as it was: here a containerd with a container. First, before there is another lab."""
    with machines_containerd(tmp_path / "containerd") as container, throwaway(tmp_path) as lab:
        before = machine(lab)
        start(lab)
        run_pod(lab)
        spaces, processes = namespaces(lab), members(lab)
        assert any(lab.cgroup in each for each in machine(lab)["cgroups"])
        assert engine.down(lab)
        assert not [pid for pid in processes if alive(pid, lab)]
        assert not [pid for pid in all_processes() if namespaces_of(pid) & spaces]
        nothing_left(before, lab)
        assert not engine.down(lab)
        assert container() == "RUNNING"


def test_up_after_an_up_that_was_killed(lab: Lab) -> None:
    """Killed while kubeadm makes certificates: the lab's processes live on without it."""
    before = machine(lab)
    interrupt(lab)
    assert engine.down(lab)
    nothing_left(before, lab)
    interrupt(lab)
    assert not lab.kubeconfig.exists()
    start(lab)
    assert ready(lab)


def interrupt(lab: Lab) -> None:
    with subprocess.Popen([sys.executable, "-c", UP, str(lab.root)], stderr=subprocess.PIPE, text=True) as command:
        wait("the lab's first process", lambda: space.first_process(lab) is not None or command.poll() is not None)
        command.kill()
        _, words = command.communicate()
    assert command.returncode == -signal.SIGKILL, words


def test_up_on_a_running_lab_changes_nothing(lab: Lab) -> None:
    start(lab)
    before = identity(lab), versions(lab)
    start(lab)
    assert (identity(lab), versions(lab)) == before


def test_killed_programs_are_started_again(lab: Lab) -> None:
    """supervisord's children, all at once: etcd, containerd, the control plane, the node."""
    start(lab)
    run_pod(lab)
    before = identity(lab)
    killed = {each["name"]: each["pid"] for each in engine.processes(lab)}
    outside = {number_inside(pid): pid for pid in members(lab)}
    for pid in killed.values():
        os.kill(outside[pid], signal.SIGKILL)
    start(lab)
    assert identity(lab) == before
    now = {each["name"]: each["pid"] for each in engine.processes(lab)}
    assert now.keys() == killed.keys()
    assert not set(now.values()) & set(killed.values())
    system.kubectl(lab, "delete", "pod", "pod", "--wait", "--timeout=60s")
    run_pod(lab)


def test_a_killed_lab_takes_everything_with_it_and_up_makes_another(lab: Lab) -> None:
    start(lab)
    first, cluster = identity(lab)
    members_before = members(lab)
    os.kill(first, signal.SIGKILL)
    wait("the end of all processes", lambda: not any(alive(pid, lab) for pid in members_before))
    start(lab)
    assert ready(lab)
    assert identity(lab)[1] != cluster


def test_two_labs_do_not_meet(lab: Lab, tmp_path: Path) -> None:
    start(lab)
    run_pod(lab)
    before = identity(lab), rules(lab), pods(lab)
    with throwaway(tmp_path) as other:
        start(other)
        assert ready(other)
        assert not pods(other)
        assert identity(other)[1] != identity(lab)[1]
        run_pod(other)
        assert ready(lab)
        assert (identity(lab), rules(lab), pods(lab)) == before
        assert namespaces(lab).isdisjoint(namespaces(other))
        address = json.loads(system.kubectl(other, "get", "pod", "pod", "--output=json"))["status"]["podIP"]
        assert address.startswith("10.88.")  # the same in both: each has the whole range for itself
    assert ready(lab)
    assert (identity(lab), rules(lab), pods(lab)) == before


def test_nothing_listens_on_the_machine(lab: Lab) -> None:
    """Every process of the lab has another network than this machine, and their only link is link-local."""
    start(lab)
    networks = {str(Path(f"/proc/{pid}/ns/net").readlink()) for pid in members(lab)}
    assert networks
    assert str(Path("/proc/self/ns/net").readlink()) not in networks
    links = json.loads(output("ip", "-json", "address", "show", "dev", lab.interface))
    assert all(ipaddress.ip_address(each["local"]).is_link_local for link in links for each in link["addr_info"])
    assert within(lab, "ip", "route", "show", "default") == ""


@contextlib.contextmanager
def machines_containerd(folder: Path) -> Iterator[Callable[[], str]]:
    """A containerd in the machine's own namespaces with a container; yields what says its state."""
    (folder / "files" / "bin").mkdir(parents=True)
    shutil.copy(doctor.BUSYBOX, folder / "files" / "bin" / "busybox")
    (folder / "config.toml").write_text('version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n', encoding="utf-8")
    client = ["ctr", "--address", str(folder / "sock"), "--namespace", "machine"]

    def state() -> str:
        return output(*client, "tasks", "ls").splitlines()[-1].split()[-1]

    words = [f"--{name}={folder / name}" for name in ("root", "state")]
    with subprocess.Popen(
        ["containerd", f"--config={folder / 'config.toml'}", f"--address={folder / 'sock'}", *words], stderr=subprocess.DEVNULL
    ) as daemon:
        wait("containerd", lambda: subprocess.run([*client, "version"], capture_output=True, check=False).returncode == 0)
        apart = ["--cgroup=", f"--runc-root={folder / 'runc'}", f"--fifo-dir={folder / 'fifo'}"]
        output(*client, "run", "--detach", *apart, "--rootfs", str(folder / "files"), "own", "/bin/busybox", "sleep", "3600")
        try:
            yield state
        finally:
            output(*client, "tasks", "kill", "--signal=SIGKILL", "own")
            wait("its end", lambda: state() == "STOPPED")
            output(*client, "tasks", "delete", "own")
            daemon.terminate()


def wait(what: str, reached: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline, f"{what}: not after {seconds:.0f} s"
        time.sleep(0.1)


def get(lab: Lab, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(system.kubectl(lab, "get", *words, "--output=json"))
    return found


def ready(lab: Lab) -> bool:
    [found] = get(lab, "nodes")["items"]
    return any(each["type"] == "Ready" and each["status"] == "True" for each in found["status"]["conditions"])


def run_pod(lab: Lab) -> None:
    """A pod of the only image that a bare lab has: with a network, mounts and a cgroup."""
    subprocess.run(system.command(lab, "apply", "--filename=-"), input=json.dumps(POD), text=True, check=True, timeout=60)
    system.kubectl(lab, "wait", "pod/pod", "--for=condition=Ready", "--timeout=100s", timeout=120)


def identity(lab: Lab) -> tuple[int, str]:
    """The first process, and the cluster's own name for itself."""
    first = space.first_process(lab)
    assert first
    return first, get(lab, "namespace", "kube-system")["metadata"]["uid"]


def versions(lab: Lab) -> dict[str, str]:
    """What an apply would change: everything but leases, events and what the kubelet reports."""
    items = get(lab, "clusterroles,clusterrolebindings,serviceaccounts,configmaps,namespaces", "--all-namespaces")["items"]
    return {each["metadata"]["uid"]: each["metadata"]["resourceVersion"] for each in items}


def pods(lab: Lab) -> set[str]:
    return {each["metadata"]["uid"] for each in get(lab, "pods", "--all-namespaces")["items"]}


def within(lab: Lab, *words: str) -> str:
    return output("nsenter", f"--net=/proc/{space.first_process(lab)}/ns/net", *words)


def output(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout


def rules(lab: Lab) -> set[str]:
    return packet_rules(within(lab, "iptables-save"))


def packet_rules(saved: str) -> set[str]:
    return {re.sub(r"\[\d+:\d+\]", "", line) for line in saved.splitlines() if not line.startswith("#")}


def all_processes() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]


def members(lab: Lab) -> list[int]:
    """All processes below the lab's cgroup, pods' too, by their numbers outside."""
    return [pid for pid in all_processes() if alive(pid, lab)]


def alive(pid: int, lab: Lab) -> bool:
    """Not so is a process that has ended and whose parent, this one, has not asked how."""
    with contextlib.suppress(OSError):
        cgroup, status = (Path(f"/proc/{pid}/{name}").read_text(encoding="utf-8") for name in ("cgroup", "status"))
        return lab.cgroup in cgroup and "State:\tZ" not in status
    return False


def number_inside(pid: int) -> int:
    """A process's number in the innermost of its PID namespaces."""
    found = re.search(r"^NSpid:.*?(\d+)$", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"), re.MULTILINE)
    assert found
    return int(found[1])


def namespaces_of(pid: int) -> set[str]:
    with contextlib.suppress(OSError):
        return {str(Path(f"/proc/{pid}/ns/{kind}").readlink()) for kind in ("net", "mnt", "pid", "uts", "ipc")}
    return set()


def namespaces(lab: Lab) -> set[str]:
    """The namespaces that the lab's processes are in and this one is not: its own and its pods'."""
    return {each for pid in members(lab) for each in namespaces_of(pid)} - namespaces_of(os.getpid())


def nothing_left(before: dict[str, set[str]], lab: Lab) -> None:
    """The machine is as it was, neither more nor less."""
    after = machine(lab)
    assert {what: found - before[what] for what, found in after.items()} == {what: set() for what in after}
    assert {what: found - after[what] for what, found in before.items()} == {what: set() for what in before}


def machine(lab: Lab) -> dict[str, set[str]]:
    """What a lab could leave on the machine, without that of labs which other checkouts have running."""
    return {
        "mounts": set(Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()),
        "links": {path.name for path in Path("/sys/class/net").iterdir() if path.name == lab.interface or not OTHERS.match(path.name)},
        "cgroups": {cgroup for hierarchy in space.hierarchies() for cgroup in cgroups(hierarchy, lab)},
        "rules": packet_rules(output("iptables-save")),
        "listening": {line.split()[4] for line in output("ss", "-Hlntu").splitlines() if not line.split()[4].startswith(HERE)},
        "files": {f"{path} {path.lstat().st_mtime_ns}" for folder in ELSEWHERE for path in Path(folder).rglob("*")},
    }


def cgroups(hierarchy: Path, lab: Lab) -> Iterator[str]:
    """The groups, and what version 2 shares out at the top."""
    for top in [hierarchy, *hierarchy.iterdir()]:
        if top.is_dir() and (top.name == lab.cgroup or not OTHERS.match(top.name)):
            yield str(top)
    if (shared := hierarchy / "cgroup.subtree_control").exists():
        yield f"{hierarchy} {shared.read_text(encoding='utf-8').strip()}"
