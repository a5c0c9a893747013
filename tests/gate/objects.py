"""Valid objects of many kinds, and what breaks and what keeps each CEL rule of their CRDs: for the gate here, for the lab's API server there."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gate import schemas, validate
from gate.model import Fault, Resource, Unit

Manifest = dict[str, Any]
NAMESPACE = "test-objects"
GONE = object()


def valid() -> dict[str, Manifest]:
    """The objects by kind."""
    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    return {each["kind"]: each for each in yaml.safe_load_all(text.replace("NAMESPACE", NAMESPACE))}


def changed(manifest: Manifest, edits: dict[str, Any], between: str = ".") -> Manifest:
    """A copy with the fields at dotted paths set, or taken out where the value is GONE."""
    result = copy.deepcopy(manifest)
    for path, value in edits.items():
        *steps, last = (int(step) if step.isdigit() else step for step in path.split(between))
        parent: Any = result
        for step in steps:
            parent = parent[step]
        if value is GONE:
            del parent[last]
        else:
            parent[last] = value
    return result


def refusals(manifest: Manifest, catalog: schemas.Catalog) -> list[Fault]:
    """The errors of the two rules that say what the API server says: schema/valid and schema/cel."""
    resource = Resource(manifest=manifest, unit=Unit(path=Path("objects.yaml"), kustomization=False))
    found = validate.validate([resource], catalog)
    assert found.problems == []
    return [fault for fault in found.faults if fault.rule.startswith("schema/") and fault.severity in (None, "error")]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A part of a CEL rule's text, edits of the kind's valid object that break it, and others that come near."""

    kind: str
    rule: str
    breaks: dict[str, Any]
    keeps: dict[str, Any]


def _job_set(kind: str, spec: str) -> list[Rule]:
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    elsewhere = {**claim, "metadata": {"name": "data", "namespace": "a"}}
    after = {f"{spec}.replicatedJobs.0.dependsOn": [{"name": "first", "status": "Ready"}]}
    first = {f"{spec}.startupPolicy": {"startupPolicyOrder": "InOrder"}}
    return [
        Rule(kind=kind, rule="self.replicatedJobs.exists(x, has(x.dependsOn))", breaks={**first, **after}, keeps=first),
        Rule(
            kind=kind,
            rule="self.templates.all(t, !has(t.metadata.namespace)",
            breaks={f"{spec}.volumeClaimPolicies": [{"templates": [elsewhere]}]},
            keeps={f"{spec}.volumeClaimPolicies": [{"templates": [claim]}]},
        ),
    ]


def _runtime(kind: str) -> list[Rule]:
    def injected(name: str) -> Manifest:
        return {"envInjection": {"targets": [{"jobName": "node", "containerNames": [name]}]}}

    return [
        *_job_set(kind, "spec.template.spec"),
        Rule(
            kind=kind,
            rule="has(self.torch), has(self.mpi)",
            breaks={"spec.mlPolicy": {"torch": {}, "jax": {}}},
            keeps={"spec.mlPolicy": {"torch": {}}},
        ),
        Rule(
            kind=kind,
            rule="self >= 1",
            breaks={"spec.mlPolicy": {"flux": {"numProcPerNode": 0}}},
            keeps={"spec.mlPolicy": {"flux": {"numProcPerNode": 1}}},
        ),
        Rule(
            kind=kind,
            rule="!self.exists(c, c == 'node')",
            breaks={"spec.mlPolicy": {"torch": injected("node")}},
            keeps={"spec.mlPolicy": {"torch": injected("sidecar")}},
        ),
    ]


_TRY_NEXT = {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor"}
_PREFERS = {**_TRY_NEXT, "preference": "BorrowingOverPreemption"}
_HOST = {"nodeLabel": "kubernetes.io/hostname"}
_RACK = {"nodeLabel": "example.com/rack"}
_SELECTOR = "spec.members.0.selector"
RULES = [
    *_job_set("JobSet", "spec"),
    *_runtime("ClusterTrainingRuntime"),
    *_runtime("TrainingRuntime"),
    Rule(kind="TrainJob", rule="self.metadata.name.matches", breaks={"metadata.name": "9a"}, keeps={"metadata.name": "a9"}),
    Rule(kind="TrainJob", rule="size(self.metadata.name) <= 63", breaks={"metadata.name": "a" * 64}, keeps={"metadata.name": "a" * 40}),
    Rule(kind="TrainJob", rule="managedBy", breaks={"spec.managedBy": "example.com/me"}, keeps={"spec.managedBy": GONE}),
    *(
        Rule(
            kind="TrainJob",
            rule=f"initializer.{what}",
            breaks={"spec.initializer": {what: {"storageUri": "nowhere"}}},
            keeps={"spec.initializer": {what: {"storageUri": "hf://somewhere"}}},
        )
        for what in ("dataset", "model")
    ),
    Rule(kind="ClusterQueue", rule="!has(self.cohortName)", breaks={"spec.cohortName": GONE}, keeps={}),
    Rule(
        kind="ClusterQueue",
        rule="!has(self.preference)",
        breaks={"spec.flavorFungibility": {**_PREFERS, "whenCanBorrow": "MayStopSearch"}},
        keeps={"spec.flavorFungibility": _PREFERS},
    ),
    Rule(kind="ClusterQueue", rule="reclaimWithinCohort", breaks={"spec.preemption.reclaimWithinCohort": "Never"}, keeps={}),
    Rule(kind="ClusterQueue", rule="size(self.coveredResources)", breaks={"spec.resourceGroups.0.flavors.0.resources.1": GONE}, keeps={}),
    Rule(kind="Cohort", rule="size(self.coveredResources)", breaks={"spec.resourceGroups.0.coveredResources": ["cpu", "memory"]}, keeps={}),
    Rule(kind="MultiKueueCluster", rule="has(self.kubeConfig)", breaks={"spec.clusterSource": {}}, keeps={}),
    Rule(kind="ResourceFlavor", rule="!has(self.topologyName)", breaks={"spec.nodeLabels": {}}, keeps={"spec.topologyName": GONE}),
    Rule(
        kind="ResourceFlavor",
        rule="self.all(x, x.effect in",
        breaks={"spec.nodeTaints.0.effect": "Sometimes"},
        keeps={"spec.nodeTaints.0.effect": "PreferNoSchedule"},
    ),
    Rule(
        kind="ResourceFlavor",
        rule="!has(x.key)",
        breaks={"spec.tolerations.0.key": GONE},
        keeps={"spec.tolerations": [{"operator": "Exists"}]},
    ),
    Rule(
        kind="ResourceFlavor",
        rule="has(x.tolerationSeconds)",
        breaks={"spec.tolerations.0.effect": "NoSchedule"},
        keeps={"spec.tolerations.0.tolerationSeconds": GONE, "spec.tolerations.0.effect": "NoSchedule"},
    ),
    Rule(
        kind="ResourceFlavor",
        rule="x.operator in ['Equal', 'Exists']",
        breaks={"spec.tolerations.0.operator": "In"},
        keeps={"spec.tolerations.0.operator": GONE},
    ),
    Rule(
        kind="ResourceFlavor",
        rule="!has(x.value)",
        breaks={"spec.tolerations.0.operator": "Exists"},
        keeps={"spec.tolerations.0.operator": "Exists", "spec.tolerations.0.value": GONE},
    ),
    Rule(
        kind="ResourceFlavor",
        rule="!has(x.effect)",
        breaks={"spec.tolerations.0.effect": "Sometimes", "spec.tolerations.0.tolerationSeconds": GONE},
        keeps={"spec.tolerations.0.effect": GONE, "spec.tolerations.0.tolerationSeconds": GONE},
    ),
    Rule(kind="Topology", rule="size(self.filter(j, j == i)) > 1", breaks={"spec.levels": [_RACK, _RACK]}, keeps={"spec.levels": [_RACK]}),
    Rule(kind="Topology", rule="self[size(self) - 1]", breaks={"spec.levels": [_HOST, _RACK]}, keeps={"spec.levels": [_RACK, _HOST]}),
    Rule(kind="HyperNode", rule="has(self.exactMatch) || has", breaks={_SELECTOR: {}}, keeps={}),
    Rule(
        kind="HyperNode",
        rule="? 1 : 0) <= 1",
        breaks={_SELECTOR: {"exactMatch": {"name": "a"}, "regexMatch": {"pattern": "a"}}},
        keeps={_SELECTOR: {"regexMatch": {"pattern": "a"}}},
    ),
]


_VALUES = (
    None, True, "", "x", "1", "a_B c", "a\n", "é", "1Gi", "A" * 300, 0, -1, 2**31, 2**31 - 1, 2**63, -(2**63) - 1, 1.5, 1.0,
    [], ["x"], [1], {}, {"x": "y"}, {"x": 1},
)  # fmt: skip
_KEYS = ("unknownField", "Bad Key", "a/b/c", "-x", "x" * 70, "Upper")


def mutations(manifest: Manifest) -> list[tuple[str, Manifest]]:
    """The object with one field taken out, retyped, doubled or one added, for every field but its kind; with words for each."""
    found: list[tuple[str, Manifest]] = []

    def note(words: str, path: list[str], value: Any) -> None:
        found.append((f"{'.'.join(path)}: {words}", changed(manifest, {"\0".join(path): value}, "\0")))

    def visit(value: Any, path: list[str]) -> None:
        if path:
            note("gone", path, GONE)
            for each in _VALUES:
                note(f"{each!r:.30}", path, each)
        if isinstance(value, dict):
            for key in _KEYS if path else ():
                note("added", [*path, key], "x")
            for key, child in value.items():
                if path or key not in ("apiVersion", "kind"):
                    visit(child, [*path, key])
        elif isinstance(value, list):
            note("doubled", path, [*value, *value[:1]])
            for index, child in enumerate(value):
                visit(child, [*path, str(index)])

    visit(manifest, [])
    return found
