"""Pods without a cluster: processes with a hostname, an address, /etc/hosts and /etc/resolv.conf of their own.

Each pod has its network, mount, host name and process namespaces, so tfrun is process 1 as it is in a container. They
are joined by a bridge, and CoreDNS (the real one) serves their names with the ttl 30 and cache 30 of a kubeadm
cluster. Everything belongs to processes: when those end, no link, mount or name is left.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console

from gate.model import GateError
from lab import binaries

ZONE = "cluster.local"
GATEWAY = "10.244.0.1"
UNSHARE = ["unshare", "--net", "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
BEGIN = """
read -r _
hostname "$POD_HOSTNAME"
mount --bind "$POD_ETC/hosts" /etc/hosts
mount --bind "$POD_ETC/resolv.conf" "$(readlink -f /etc/resolv.conf)"
ip link set lo up
ip address add "$POD_ADDRESS/16" dev eth0
ip link set eth0 up
exec "$@"
"""


class PodsUnavailable(RuntimeError):
    """Pods cannot be made here; the message says why."""


def coredns() -> Path:
    """The CoreDNS of the lab, built once into the cache. Raises PodsUnavailable."""
    try:
        return binaries.made("coredns", Console(stderr=True))
    except GateError as error:
        raise PodsUnavailable(f"CoreDNS could not be built: {error}") from error


def check() -> None:
    """Raises PodsUnavailable where namespaces cannot be made."""
    if os.geteuid() != 0:
        raise PodsUnavailable("namespaces with addresses need root")
    for tool in ("unshare", "nsenter", "ip"):
        if not shutil.which(tool):
            raise PodsUnavailable(f"no {tool} command")
    done = subprocess.run(["unshare", "--net", "--pid", "--fork", "true"], capture_output=True, text=True)
    if done.returncode:
        raise PodsUnavailable(f"namespaces are refused: {done.stderr.strip()}")


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 60) -> None:
    """Poll until the condition holds; raises TimeoutError with what was waited for."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds:g} s: {what}")
        time.sleep(0.05)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Pod:
    """One process in its namespaces; its output is in a file."""

    def __init__(self, net: Net, name: str, address: str, command: list[str], env: Mapping[str, str], fqdn: str) -> None:
        self.name, self.address, self.fqdn, self.net = name, address, fqdn, net
        folder = net.folder / f"{name}-{len(net.pods)}"
        folder.mkdir()
        self.log = folder / "log"
        (folder / "hosts").write_text(f"127.0.0.1 localhost\n{address} {fqdn} {name}\n" if fqdn else "127.0.0.1 localhost\n")
        search = f"ns.svc.{ZONE} svc.{ZONE} {ZONE}"
        (folder / "resolv.conf").write_text(f"search {search}\nnameserver {GATEWAY}\noptions ndots:5\n")
        (folder / "tmp").mkdir()
        inside = {"TMPDIR": str(folder / "tmp"), **env, "POD_HOSTNAME": name, "POD_ETC": str(folder), "POD_ADDRESS": address}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*UNSHARE, "bash", "-e", "-c", BEGIN, "pod", *command],
                env=inside,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=_die_with_parent,
            )
        self._plug()
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(b"go\n")
            self.process.stdin.close()

    def _plug(self) -> None:
        mine, host = Path(f"/proc/{self.process.pid}/ns/net"), Path("/proc/self/ns/net")
        wait_for(lambda: mine.readlink() != host.readlink(), "the pod's network")
        number = len(self.net.pods)
        self.net.inside(
            f"ip link add veth{number} type veth peer name eth0 netns {self.process.pid} && ip link set veth{number} master br0 up"
        )

    def first(self) -> int:
        """The pod's process 1, as its number out here."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(children[0])

    def send(self, number: int) -> None:
        """A signal to the pod's process 1, as kubelet sends it."""
        os.kill(self.first(), number)

    def wait(self, seconds: float = 120) -> int:
        """The exit status."""
        return self.process.wait(seconds)

    def text(self) -> str:
        """What it has printed so far."""
        return self.log.read_text(errors="replace")

    def sees(self, line: str, seconds: float = 90) -> None:
        """Wait until it has printed this, or fail with what it printed."""
        try:
            wait_for(lambda: line in self.text() or self.process.poll() is not None, line, seconds)
        except TimeoutError as error:
            raise AssertionError(f"{error}\n{self.text()[-3000:]}") from None
        assert line in self.text(), self.text()[-3000:]

    def end(self) -> None:
        """The pod is deleted without grace."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(30)


class Net:
    """A bridge, CoreDNS on its address, and the pods."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.pods = folder, []  # type: tuple[Path, list[Pod]]
        self.records: dict[str, set[str]] = {}
        self.serial = 0
        check()
        server = coredns()
        (folder / "Corefile").write_text(
            f".:53 {{\n  bind {GATEWAY}\n  errors\n  file {folder}/zone {ZONE} {{\n    reload 200ms\n  }}\n  cache 30\n}}\n"
        )
        self._write()
        begin = (
            # An address of its own: a bridge else takes its ports' lowest, and pods lose it when that changes.
            "ip link set lo up; ip link add br0 address 02:00:0a:f4:00:01 type bridge; "
            f"ip address add {GATEWAY}/16 dev br0; ip link set br0 up; "
            f'exec "{server}" -conf "{folder}/Corefile"'
        )
        with (folder / "coredns.log").open("wb") as log:
            self.server = subprocess.Popen(
                ["unshare", "--net", "bash", "-e", "-c", begin],
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=_die_with_parent,
            )
        wait_for(lambda: "CoreDNS-1" in (folder / "coredns.log").read_text(), "CoreDNS to serve")

    def inside(self, command: str) -> None:
        """Run in the network of the bridge."""
        subprocess.run(["nsenter", "-t", str(self.server.pid), "--net", "bash", "-e", "-c", command], check=True)

    def publish(self, name: str, *addresses: str) -> None:
        """Give a name these addresses, none for no such name. CoreDNS reads its zone every 200 ms."""
        self.records[name] = set(addresses)
        self._write()

    def _write(self) -> None:
        self.serial += 1
        lines = [f"$ORIGIN {ZONE}.", "$TTL 30", f"@ IN SOA ns.dns admin {self.serial} 7200 1800 86400 30", "@ IN NS ns.dns"]
        lines += [f"{name}. IN A {address}" for name, all_of in sorted(self.records.items()) for address in sorted(all_of)]
        fresh = self.folder / "zone.new"
        fresh.write_text("\n".join([*lines, f"ns.dns IN A {GATEWAY}", ""]))
        fresh.rename(self.folder / "zone")

    def pod(self, name: str, command: list[str], env: Mapping[str, str], *, job: str = "job", publish: bool = True) -> Pod:
        """Start a pod of a job in namespace ns; its name is published at once or later by the caller."""
        number = len(self.pods)
        address = f"10.244.{1 + number // 200}.{1 + number % 200}"
        fqdn = f"{name}.{job}.ns.svc.{ZONE}"
        pod = Pod(self, name, address, command, env, fqdn)
        self.pods.append(pod)
        if publish:
            self.publish(fqdn, address)
        return pod

    def close(self) -> None:
        """End everything."""
        for pod in self.pods:
            pod.end()
        self.server.kill()
        self.server.wait(30)
