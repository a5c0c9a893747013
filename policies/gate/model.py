"""What the steps of a check hand to one another: plain, frozen data."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

Manifest = dict[str, Any]
Step = str | int
FieldPath = tuple[Step, ...]
Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


class GateError(Exception):
    """A check that could not be done (exit status 2): one line that says where, what is wrong and what to write."""

    def __init__(self, message: str, *, file: Path | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a rule says of itself. `needs_cluster`: it is only applied where a cluster's facts and objects are known.

    `waivable` is False where a fault leaves a part of its target unjudged, or is about the waivers themselves.
    `seen`: where its claim was seen, each "lab: FILE::TEST" or "source: MODULE PATH"; public reports are among `references`.
    """

    id: str
    title: str
    description: str
    severity: Severity
    fix: str
    example: str = ""
    references: tuple[tuple[str, str], ...] = ()
    seen: tuple[str, ...] = ()
    symptoms: tuple[str, ...] = ()
    needs_cluster: bool = False
    waivable: bool = True
    file: Path | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A line in a source file that a person can edit; `line` counts from 1."""

    file: Path
    line: int = 1


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One thing that is built by itself: a kustomization (a folder) or a YAML file."""

    path: Path
    kustomization: bool


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Resource:
    """A rendered object and the unit that it came from; `document` is its place in a plain YAML file."""

    manifest: Manifest
    unit: Unit
    document: int = 0

    @property
    def api_version(self) -> str:
        return str(self.manifest.get("apiVersion", ""))

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def kind(self) -> str:
        return str(self.manifest.get("kind", ""))

    @property
    def metadata(self) -> Mapping[str, Any]:
        metadata = self.manifest.get("metadata")
        return metadata if isinstance(metadata, dict) else {}

    @property
    def name(self) -> str:
        return str(self.metadata.get("name", ""))

    @property
    def namespace(self) -> str:
        return str(self.metadata.get("namespace") or "")

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """What makes two objects one on a cluster: group, kind, namespace and name."""
        return self.group, self.kind, self.namespace, self.name

    def __str__(self) -> str:
        return "/".join(part for part in (self.kind, self.namespace, self.name) if part)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A finding before it has a place: which object and field of one evaluation, not yet which source line.

    `key`: it is the field itself that is wrong, whatever its value. `also`: other objects that are a part of it.
    """

    rule: str
    message: str
    resource: Resource | None
    path: FieldPath = ()
    severity: Severity | None = None
    fix: str | None = None
    place: Place | None = None
    owner: Resource | None = None
    key: bool = False
    also: tuple[Resource, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One fault at the line to edit, with every target that it reaches."""

    rule: str
    severity: Severity
    message: str
    fix: str
    targets: tuple[str, ...]
    place: Place
    resource: Resource | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Waiver:
    """Leave for one rule until the end of a day; `file`, `target` and `resource` are "" where they do not narrow it."""

    rule: str
    file: str
    target: str
    resource: str
    owner: str
    reason: str
    expires: datetime.date
    place: Place


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Waived:
    """A finding that a waiver hides."""

    finding: Finding
    waiver: Waiver


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why a part of the check could not be done (exit status 2), and the targets that it was needed for."""

    message: str
    file: Path | None = None
    line: int | None = None
    targets: tuple[str, ...] = ()

    @classmethod
    def of(cls, error: GateError) -> Problem:
        return cls(message=error.message, file=error.file, line=error.line)

    def error(self) -> GateError:
        """The error that it was made of, for a command that cannot go on without what is missing."""
        return GateError(self.message, file=self.file, line=self.line)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What was looked at in one target: for the account that every report gives."""

    name: str
    kind: str
    resources: int
    without_cluster: bool
    failed: bool = False
    runs: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Everything that a report can say of a run of the gate; `seconds` is its wall-clock time.

    `unaffected` counts the targets that were left out since no change can affect them.
    """

    root: Path
    checked: Sequence[Checked]
    findings: Sequence[Finding]
    problems: Sequence[Problem]
    rules: int
    cluster_rules: int
    seconds: float
    waived: Sequence[Waived] = ()
    unaffected: int = 0

    @property
    def resources(self) -> int:
        return sum(checked.resources for checked in self.checked)

    def count(self, severity: Severity) -> int:
        return sum(finding.severity == severity for finding in self.findings)

    @property
    def status(self) -> int:
        """Exit status: 2 if anything could not be checked, else 1 if there is an error-level finding, else 0."""
        if self.problems:
            return 2
        return 1 if self.count("error") else 0


def get(value: Any, path: Sequence[Step], default: Any = None) -> Any:
    """The value at a path of keys and indices, or `default` where any step is absent."""
    for step in path:
        in_mapping = isinstance(value, dict) and step in value
        in_list = isinstance(value, list) and isinstance(step, int) and step < len(value)
        if not in_mapping and not in_list:
            return default
        value = value[step]
    return value


def as_list(value: Any) -> list[Any]:
    """A list as it is, an empty one for anything else."""
    return value if isinstance(value, list) else []


def as_mapping(value: Any) -> dict[str, Any]:
    """A mapping as it is, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def shortened(text: str, limit: int = 60) -> str:
    """The beginning of a text that is longer than a message should be."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def dotted(path: Sequence[Step]) -> str:
    """A path as people write it: spec.template.spec.containers[0].image, labels["a.b/c"]."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif "." in step or "/" in step:
            text += f'["{step}"]'
        else:
            text += f".{step}" if text else step
    return text
