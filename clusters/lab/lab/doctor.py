"""What this machine lacks, found before anything starts."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from gate import tools
from gate.model import GateError

CNI = Path("/usr/lib/cni")
BUSYBOX = Path("/bin/busybox")
_PROGRAMS = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "conntrack": "conntrack",
    "ip": "iproute2",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "mount": "mount",
    "mmdebstrap": "mmdebstrap",
    "git": "git",
}


def faults() -> list[str]:
    """Everything at once, each with its remedy; an empty list where the machine can hold the lab."""
    if sys.platform != "linux":
        return [f"the lab needs Linux, this is {sys.platform}"]
    found = [] if os.geteuid() == 0 else ["the lab needs root for namespaces, mounts and cgroups: sudo"]
    packages = {package for program, package in _PROGRAMS.items() if not shutil.which(program)}
    packages |= set() if (CNI / "bridge").exists() else {"containernetworking-plugins"}
    packages |= set() if BUSYBOX.exists() else {"busybox-static"}
    if packages:
        found.append(f"Debian packages are missing: apt-get install --no-install-recommends {' '.join(sorted(packages))}")
    try:
        tools.go()
    except GateError as error:
        found.append(str(error))
    filesystems = Path("/proc/filesystems").read_text(encoding="utf-8").split()
    if "overlay" not in filesystems:
        found.append("the kernel has no overlay file system: modprobe overlay")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**30
    if memory < 11:
        found.append(f"12 GiB of memory are needed, this machine has {memory}")
    place = next(path for path in (tools.cache(), *tools.cache().parents) if path.exists())
    free = shutil.disk_usage(place).free // 2**30
    if free < 15:
        found.append(f"15 GiB of disk are needed for programs and images, {place} has {free} left")
    return found
