"""What the rules and the API server's admission policies both judge: every object of the rules' cases, one at a time."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from gate import facts, process, resolve, rules, tools
from gate.evaluate import Evaluator
from gate.model import Manifest, Resource, Unit
from tests.conftest import ROOT
from tests.edit import edited
from tests.rules.test_rules import HERE, described

CLUSTER = "runs"
# The rules that have a policy, and what of each the policy sees: where nothing is said, all of it.
RULES = {
    "run/allowed-overrides": "",
    "jobset/backoff-limit-zero": "",
    "jobset/restart-policy-never": "",
    "jobset/publish-not-ready-addresses": "",
    "queue/kueue-label": "",
    "queue/kueue-label-place": "",
    "resources/extended-limits": "without a limit",
}
RESOURCES = {
    "TrainJob": "trainjobs",
    "ClusterTrainingRuntime": "clustertrainingruntimes",
    "TrainingRuntime": "trainingruntimes",
    "JobSet": "jobsets",
}


@functools.cache
def cluster() -> facts.Facts:
    return facts.load(HERE / "clusters" / f"{CLUSTER}.yaml")


@functools.cache
def policies() -> tuple[list[Manifest], list[Manifest]]:
    """The policies of base/admission with the lists of these facts, and their bindings."""
    objects = [*yaml.safe_load_all(process.run([tools.binary("kustomize"), "build", ROOT / "base" / "admission"]))]
    found = [each for each in objects if each["kind"] == "ValidatingAdmissionPolicy"]
    lists = {**cluster().value["runs"], "capabilities": ["IPC_LOCK"], "networks": ["fabric-net"]}
    for policy in found:
        for variable in policy["spec"].get("variables", []):
            if variable["name"] in lists:
                variable["expression"] = json.dumps(lists[variable["name"]])
    return found, [each for each in objects if each["kind"] == "ValidatingAdmissionPolicyBinding"]


@functools.cache
def objects() -> dict[str, Manifest]:
    """The objects of all cases of these rules by the case that has them first, with the JobSets that Trainer would make."""
    made: dict[str, Manifest] = {}
    for name, text in _texts():
        unit = Unit(path=Path(f"{name}.yaml"), kustomization=False)
        resources = [Resource(manifest=manifest, unit=unit) for manifest in yaml.safe_load_all(text)]
        manifests = [each.manifest for each in resources if each.kind in RESOURCES]
        for workload in resolve.resolve(resources, cluster().catalog):
            if workload.kind == "TrainJob" and workload.effective:
                metadata = {**workload.effective.value["metadata"], "name": workload.name, "namespace": workload.namespace}
                jobset = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata}
                manifests.append({**jobset, "spec": workload.effective.value["spec"]})
        known = {json.dumps(each, sort_keys=True) for each in made.values()}
        made |= {f"{name}: {each['kind']}": each for each in manifests if json.dumps(each, sort_keys=True) not in known}
    return made


def _texts() -> Iterator[tuple[str, str]]:
    for file in sorted((HERE / "valid").glob("*.yaml")):
        yield file.stem, file.read_text(encoding="utf-8")
    for rule in RULES:
        for case in described(rule)["cases"]:
            text = (HERE / "valid" / f"{case['from']}.yaml").read_text(encoding="utf-8")
            yield f"{rule} {case['name']}", edited(text, case.get("edits", []))


def refused_by_rules(manifest: Manifest, opa: Evaluator) -> set[str]:
    """The rules with a policy that find an error in an object alone."""
    resources = [Resource(manifest=manifest, unit=Unit(path=Path("object.yaml"), kustomization=False))]
    workloads = resolve.resolve(resources, cluster().catalog)
    faults = opa.evaluate(resources, [True], workloads, cluster(), cluster().catalog)
    errors = [each for each in faults if (each.severity or rules.rules()[each.rule].severity) == "error"]
    return {each.rule for each in errors if each.rule in RULES and RULES[each.rule] in each.message}


def rule_of(message: str) -> str:
    """The rule that a policy's message names first."""
    rule, _, _ = message.partition(": ")
    assert rule in RULES, message
    return rule


def matches(policy: Mapping[str, Any], manifest: Manifest) -> bool:
    """Whether a policy is about objects of this kind."""
    group, _, version = manifest["apiVersion"].partition("/")
    wanted = {"apiGroups": group, "apiVersions": version, "resources": RESOURCES[manifest["kind"]]}
    return any(all(value in rule[key] for key, value in wanted.items()) for rule in policy["spec"]["matchConstraints"]["resourceRules"])
