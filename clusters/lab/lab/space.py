"""The lab's namespaces and cgroup, seen from outside: begin, find, end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from gate import process
from gate.model import GateError
from lab.model import Lab, LabError, tail

CONTROLLERS = {"cpu", "cpuset", "memory", "pids"}  # what the kubelet needs
_DAEMONS = "daemons"  # below the lab's cgroup, beside the pods': version 2 allows no process in an inner node


def start(lab: Lab) -> None:
    """Begins the lab's first process in namespaces of its own. When it ends, the kernel ends all others with it."""
    for hierarchy in hierarchies():
        _make(hierarchy, hierarchy / lab.cgroup)
        _make(hierarchy, hierarchy / lab.cgroup / _DAEMONS)
    lab.log("lab").parent.mkdir(parents=True, exist_ok=True)
    spaces = ["--net", "--mount", "--pid", "--uts", "--ipc", "--mount-proc", "--fork", "--kill-child", "--propagation=private"]
    with lab.log("lab").open("w", encoding="utf-8") as log:
        join = f'for procs in {_tasks(lab)}; do echo $$ > "$procs" || exit 1; done; exec "$@"'
        subprocess.Popen(
            ["/bin/sh", "-c", join, "sh", "unshare", *spaces, sys.executable, "-m", "lab.inside", str(lab.root)],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _link(lab)


def first_process(lab: Lab) -> int | None:
    """The process that is number 1 inside, by its number outside; None where no lab runs."""
    for pid in _processes(lab):
        with contextlib.suppress(OSError):
            numbers = _numbers(str(pid))
            if numbers[-1] == "1" and len(numbers) == len(_numbers("self")) + 1:  # pods' first processes are one space deeper
                return pid
    return None


def end(lab: Lab) -> bool:
    """Ends every process of the lab and removes its cgroup; mounts, links and rules go with the namespaces. True if any ran."""
    first = first_process(lab)
    ran = bool(first)
    deadline = time.monotonic() + 60
    while left := list(_processes(lab)):
        ran = True
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            raise LabError(f"processes {left} do not end after SIGKILL: look at /proc/{left[0]}/stack")
        time.sleep(0.05)
    for hierarchy in hierarchies():
        _remove(hierarchy / lab.cgroup)
    if (Path("/sys/class/net") / lab.interface).exists():  # the kernel takes a network apart in the background: not so late
        with contextlib.suppress(GateError):
            process.run(["ip", "link", "delete", lab.interface], timeout=10)
    return ran


def _numbers(pid: str) -> list[str]:
    """A process's number in each PID namespace that it is in, ours first."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return next(line for line in status.splitlines() if line.startswith("NSpid:")).split()[1:]


def _link(lab: Lab) -> None:
    """A pair of interfaces between this machine and the lab's network; it goes with that network."""
    deadline = time.monotonic() + 30
    while not (first := first_process(lab)):
        if time.monotonic() > deadline:
            raise LabError(f"the lab's namespaces did not come up: read {lab.log('lab')}{tail(lab.log('lab'))}")
        time.sleep(0.05)
    outside, inside = lab.addresses
    within = ["nsenter", f"--net=/proc/{first}/ns/net"]
    for command in (
        ["ip", "link", "add", lab.interface, "type", "veth", "peer", "name", "outside", "netns", str(first)],
        ["ip", "address", "add", f"{outside}/30", "dev", lab.interface],
        ["ip", "link", "set", lab.interface, "up"],
        [*within, "ip", "address", "add", f"{inside}/30", "dev", "outside"],
        [*within, "ip", "link", "set", "outside", "up"],
    ):
        try:
            process.run(command, timeout=10)
        except GateError as error:
            raise LabError(f"{error}: read {lab.log('lab')}{tail(lab.log('lab'))}") from error


def hierarchies() -> dict[Path, set[str]]:
    """Every mounted cgroup hierarchy, the many of version 1 or the one of version 2, with its controllers."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()]
    found = {Path(mount[1]): set(mount[3].split(",")) for mount in mounts if mount[2] in ("cgroup", "cgroup2")}
    return {path: controllers(path) or options for path, options in found.items()}


def controllers(group: Path) -> set[str]:
    """What version 2 can share out below a group; nothing in a hierarchy of version 1."""
    file = group / "cgroup.controllers"
    return set(file.read_text(encoding="utf-8").split()) if file.exists() else set()


def _make(hierarchy: Path, group: Path) -> None:
    group.mkdir(exist_ok=True)
    for name in ("cpuset.cpus", "cpuset.mems"):  # version 1: an empty set takes no process
        if (hierarchy / "cpuset.cpu_exclusive").exists() and not (group / name).read_text(encoding="utf-8").strip():
            (group / name).write_text((group.parent / name).read_text(encoding="utf-8"), encoding="utf-8")
    if (offered := controllers(group.parent)) >= CONTROLLERS:  # version 2 and not just a bystander of version 1
        wanted = " ".join(f"+{each}" for each in offered & (CONTROLLERS | {"hugetlb", "io"}))
        (group.parent / "cgroup.subtree_control").write_text(wanted, encoding="utf-8")


def _tasks(lab: Lab) -> str:
    return " ".join(f"'{hierarchy / lab.cgroup / _DAEMONS / 'cgroup.procs'}'" for hierarchy in hierarchies())


def _processes(lab: Lab) -> Iterator[int]:
    seen = set[int]()
    for hierarchy in hierarchies():
        for folder, _, _ in os.walk(hierarchy / lab.cgroup):
            with contextlib.suppress(OSError):
                seen |= {int(pid) for pid in (Path(folder) / "cgroup.procs").read_text(encoding="utf-8").split()}
    yield from sorted(seen - {0})


def _remove(group: Path) -> None:
    deadline = time.monotonic() + 20
    while group.exists():
        for folder, _, _ in os.walk(group, topdown=False):
            with contextlib.suppress(OSError):  # a process that has just ended may still be counted
                Path(folder).rmdir()
        if time.monotonic() > deadline:
            raise LabError(f"the cgroup {group} cannot be removed: processes {(group / 'cgroup.procs').read_text(encoding='utf-8')}")
        if group.exists():
            time.sleep(0.05)
