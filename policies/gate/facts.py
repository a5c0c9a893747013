"""The facts of a cluster: clusters/<name>/cluster.yaml."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from packaging.version import Version

from gate import schemas, source
from gate.model import FieldPath, GateError, Place

FILE_NAME = "cluster.yaml"
_POLICIES = Path(__file__).resolve().parent.parent
_SCHEMA = _POLICIES / "schemas" / "cluster.schema.json"
_PAIRS = _POLICIES / "rules" / "lib" / "versions" / "data.yaml"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Facts:
    """A cluster's facts. `for_rules` is what the Rego rules see as input.cluster."""

    file: Path
    value: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.value["name"])

    def place(self, path: FieldPath) -> Place:
        """The line of a fact."""
        (document,) = source.load(self.file)
        return Place(file=self.file, line=document.line(path))

    @property
    def catalog(self) -> schemas.Catalog:
        """The schemas of the versions that the cluster runs. Raises GateError at the line of an unknown version.

        What is known of an unknown version is said all the same: that it fails beside another.
        """
        try:
            return schemas.catalog(tuple(sorted(self.value["versions"].items())))
        except GateError as error:
            key = error.message.partition(":")[0].rpartition(".")[2]
            if key not in self.value["versions"]:
                raise
            message = "; ".join([error.message, *_failing(self.value["versions"])])
            raise GateError(message, file=self.file, line=self.place(("versions", key)).line) from error

    def for_rules(self) -> dict[str, Any]:
        external = []
        for entry in self.value.get("external", []):
            kind, _, rest = entry.partition("/")
            namespace, _, name = rest.rpartition("/")
            external.append({"kind": kind, "namespace": namespace, "name": name})
        return {**self.value, "external": external}


def _failing(versions: Mapping[str, str]) -> list[str]:
    """Why versions that a cluster names fail together, as far as the rules know it (versions/kueue-and-trainer)."""
    (document,) = source.load(_PAIRS)
    return [
        pair["why"].format_map(versions)
        for pair in document.value["failing"]
        if all(name in versions and Version(versions[name]) >= Version(least) for name, least in pair["from"].items())
        and all(name in versions and Version(versions[name]) < Version(first) for name, first in pair["below"].items())
    ]


def of(folder: Path) -> Facts:
    """The facts of a cluster's folder. Raises GateError where clusters/ has it by another name."""
    found = load(folder / FILE_NAME)
    if folder.resolve().parent.name == "clusters" and found.name != folder.resolve().name:
        message = f"name: {found.name} stands in the folder {folder.resolve().name}: a cluster is called as its folder, write that"
        raise GateError(message, file=found.file, line=found.place(("name",)).line)
    return found


@functools.lru_cache(maxsize=64)
def load(file: Path) -> Facts:
    """The facts in a cluster.yaml. Raises GateError at the line that breaks its schema."""
    value = source.load_valid(file, _SCHEMA).value
    return Facts(file=file, value={"external": [], **value})
