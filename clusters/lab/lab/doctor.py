"""What this machine lacks, found before anything starts."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from pathlib import Path

from gate import process, tools
from gate.model import GateError
from lab import binaries, space
from lab.model import Lab, lab

CNI = Path("/usr/lib/cni")
BUSYBOX = Path("/bin/busybox")
MEMORY, CPUS = 11, 2  # GiB: what a machine of 12 GiB shows
PROGRAMS, IMAGES, REST = 5, 9, 1  # GiB of disk: to build, in the node's store, and what a lab writes
_PROGRAMS = {
    "containerd": "containerd",
    "containerd-shim-runc-v2": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "iptables-restore": "iptables",
    "conntrack": "conntrack",
    "ip": "iproute2",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "mount": "mount",
    "umount": "mount",
    "mmdebstrap": "mmdebstrap",
    "git": "git",
}
_PLUGINS = ("bridge", "host-local", "loopback", "portmap")
_NAT = "iptables -t nat -A"
_TRIES = {  # what the lab needs of the kernel → a try of it, in namespaces that end with it
    "namespaces (unshare); in a container, --privileged": "true",
    "bridges: modprobe bridge": "ip link add try type bridge",
    "pairs of interfaces: modprobe veth": "ip link add try type veth peer name other",
    "overlay: modprobe overlay": "cd /run && mkdir a b c d && mount -t overlay overlay -o lowerdir=a,upperdir=b,workdir=c d",
    "iptables' nat: modprobe nft_compat xt_nat": f"{_NAT} POSTROUTING -m comment --comment try -j MASQUERADE",
    "iptables' addrtype: modprobe xt_addrtype": f"{_NAT} OUTPUT -m addrtype --dst-type LOCAL -j RETURN",
    "iptables' mark: modprobe xt_mark": f"{_NAT} OUTPUT -j MARK --or-mark 1",
    "iptables' statistic: modprobe xt_statistic": f"{_NAT} OUTPUT -m statistic --mode random --probability 0.5 -j RETURN",
    "iptables' conntrack: modprobe xt_conntrack": "iptables -A FORWARD -m conntrack --ctstate INVALID -j DROP",
}


def faults(of: Lab | None = None) -> list[str]:
    """Everything at once, each with its remedy; an empty list where the machine can hold the lab, this checkout's if not told."""
    if sys.platform != "linux":
        return [f"the lab needs Linux, this is {sys.platform}"]
    missing = _programs()
    found = [*missing, *_size(), *_disk(of or lab()), *_cgroups()]
    if os.geteuid() != 0:
        found.append("the lab needs root for namespaces, mounts and cgroups: sudo")
    elif not missing:
        found += _kernel()
    return found


def packages() -> list[str]:
    """The Debian packages that are missing."""
    found = {package for program, package in _PROGRAMS.items() if not shutil.which(program)}
    found |= set() if all((CNI / name).exists() for name in _PLUGINS) else {"containernetworking-plugins"}
    found |= set() if BUSYBOX.exists() else {"busybox-static"}
    return sorted(found)


def _programs() -> list[str]:
    lacking = packages()
    found = [f"Debian packages are missing: apt-get install --no-install-recommends {' '.join(lacking)}"] if lacking else []
    try:
        tools.go()
    except GateError as error:
        found.append(str(error))
    return found


def _size() -> list[str]:
    found = []
    if platform.machine() != "x86_64":
        found.append(f"the lab's images are for x86_64, this machine is {platform.machine()}")
    cpus = len(os.sched_getaffinity(0))
    if cpus < CPUS:
        found.append(f"{CPUS} CPUs are needed, this machine has {cpus}")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**30
    if memory < MEMORY:
        found.append(f"{MEMORY + 1} GiB of memory are needed, this machine has {memory}")
    return found


def _disk(of: Lab) -> list[str]:
    """What is there already, from an earlier start, needs no room again."""
    place = next(path for path in (tools.cache(), *tools.cache().parents) if path.exists())
    parts = {"programs": PROGRAMS if binaries.missing() else 0, "images": 0 if (of.state / "containerd").exists() else IMAGES}
    needed, free = sum(parts.values()) + REST, shutil.disk_usage(place).free // 2**30
    if free >= needed:
        return []
    words = " and ".join([part for part, size in parts.items() if size] or ["what the lab writes"])
    return [f"{needed} GiB of disk are needed for {words}, {place} has {free} left"]


def _cgroups() -> list[str]:
    hierarchies = space.hierarchies()
    unified = any((path / "cgroup.controllers").exists() and offered >= space.CONTROLLERS for path, offered in hierarchies.items())
    needed = space.CONTROLLERS | (set() if unified else {"cpuacct", "devices", "freezer"})
    missing = needed - {name for offered in hierarchies.values() for name in offered}
    found = [f"cgroup controllers are not mounted in /sys/fs/cgroup: {', '.join(sorted(missing))}"] if missing else []
    if closed := [str(path) for path in hierarchies if not os.access(path, os.W_OK)]:
        found.append(f"cgroups cannot be made in {', '.join(closed)}: a container needs --privileged for this")
    return found


def _kernel() -> list[str]:
    found = []
    apart = ["unshare", "--net", "--mount", "--pid", "--uts", "--ipc", "--fork", "sh", "-c"]
    for needed, attempt in _TRIES.items():
        try:
            process.run([*apart, f"mount -t tmpfs tmpfs /run && {attempt}"], timeout=20)
        except GateError as error:
            found.append(f"this kernel lacks {needed} ({error})")
    return found
