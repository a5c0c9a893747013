"""What a lab is: names, folders and addresses, all derived from the checkout that it belongs to."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import yaml

from gate import tools
from gate.model import GateError

HERE = Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent
INSIDE = Path("/run/lab")  # where the lab's own processes see its state folder
NODE = "lab"
BRIDGE = "lab0"
GATEWAY = "10.88.0.1"
PODS = "10.88.0.0/16"
SERVICES = "10.96.0.0/16"
DOMAIN = "cluster.local"


class LabError(GateError):
    """Something that the lab needs is missing or failed; the message says which log to read."""


class Cluster(Protocol):
    """What is deployed to: the lab, or somebody's own cluster."""

    @property
    def kubeconfig(self) -> Path: ...

    @property
    def state(self) -> Path:
        """Where files are written that belong to it."""

    @property
    def own(self) -> bool:
        """True for a lab: nobody else works on it, its images are in its node, and what was applied to it goes with it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lab:
    """One lab; two checkouts have two, which share nothing but what is built once."""

    root: Path

    @property
    def id(self) -> str:
        return hashlib.sha256(str(self.root.resolve()).encode()).hexdigest()[:10]

    @property
    def state(self) -> Path:
        """Everything that this lab writes."""
        return tools.cache() / "lab" / self.id

    @property
    def kubeconfig(self) -> Path:
        return self.state / "kubeconfig"

    @property
    def own(self) -> bool:
        return True

    @property
    def cgroup(self) -> str:
        return f"tf-lab-{self.id}"

    @property
    def interface(self) -> str:
        """The machine's end of the link into the lab: at most 15 characters."""
        return f"lab-{self.id}"

    @property
    def addresses(self) -> tuple[str, str]:
        """The link's two ends, outside and inside: link-local, since nothing beyond this machine may reach the lab."""
        third, block = divmod(int(self.id, 16) % (127 * 64), 64)
        return f"169.254.{third + 1}.{block * 4 + 1}", f"169.254.{third + 1}.{block * 4 + 2}"

    def log(self, component: str) -> Path:
        return self.state / "logs" / f"{component}.log"


def lab() -> Lab:
    """The lab of this checkout."""
    return Lab(root=ROOT)


def facts() -> dict[str, Any]:
    """The cluster's cluster.yaml."""
    loaded: dict[str, Any] = yaml.safe_load((HERE / "cluster.yaml").read_text(encoding="utf-8"))
    return loaded


def tail(path: Path, lines: int = 8) -> str:
    """The last lines of a log, indented; nothing where there is none."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return "".join(f"\n    {line}" for line in text.splitlines()[-lines:])


def documents(text: str) -> Sequence[dict[str, Any]]:
    """The objects of a stream of YAML documents, which may be megabytes."""
    return [each for each in yaml.load_all(text, Loader=yaml.CSafeLoader) if each]
