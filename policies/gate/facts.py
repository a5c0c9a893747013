"""The facts of a cluster: clusters/<name>/cluster.yaml."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Any

from gate import schemas, source
from gate.model import FieldPath, GateError, Place

FILE_NAME = "cluster.yaml"
_SCHEMA = Path(__file__).resolve().parent.parent / "schemas" / "cluster.schema.json"


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
        """The schemas of the versions that the cluster runs. Raises GateError at the line of an unknown version."""
        try:
            return schemas.catalog(tuple(sorted(self.value["versions"].items())))
        except GateError as error:
            key = error.message.partition(":")[0].rpartition(".")[2]
            if key not in self.value["versions"]:
                raise
            raise GateError(error.message, file=self.file, line=self.place(("versions", key)).line) from error

    def for_rules(self) -> dict[str, Any]:
        external = []
        for entry in self.value.get("external", []):
            kind, _, rest = entry.partition("/")
            namespace, _, name = rest.rpartition("/")
            external.append({"kind": kind, "namespace": namespace, "name": name})
        return {**self.value, "external": external}


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
