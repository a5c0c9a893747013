"""What the rules and the API server's admission policies both judge: every object of the rules' cases, one at a time."""

from __future__ import annotations

import copy
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
    "queue/kueue-label": "TrainJob",
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


def policies(folder: Path) -> tuple[list[Manifest], list[Manifest]]:
    """The policies and the bindings that a folder builds."""
    found = build(folder)
    kinds = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    return [each for each in found if each["kind"] == kinds[0]], [each for each in found if each["kind"] == kinds[1]]


def policies_of_the_cases() -> tuple[list[Manifest], list[Manifest]]:
    """Those of base/admission with the lists of the cases' cluster.yaml."""
    found, bindings = policies(ROOT / "base" / "admission")
    lists = {**cluster().value["runs"], "capabilities": ["IPC_LOCK"], "networks": ["fabric-net"]}
    for variable in (variable for each in found for variable in each["spec"].get("variables", [])):
        if variable["name"] in lists:
            variable["expression"] = json.dumps(lists[variable["name"]])
    return found, bindings


def privileged(run: Manifest) -> Manifest:
    """A run that has the node in its hands."""
    taken = copy.deepcopy(run)
    pod = taken["spec"]["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    pod["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    return taken


@functools.cache
def objects() -> dict[str, Manifest]:
    """The objects of all cases of these rules by the case that has them first, with the JobSets that Trainer would make."""
    made: dict[str, Manifest] = {}
    for name, text in _texts():
        known = {json.dumps(each, sort_keys=True) for each in made.values()}
        manifests = judged([*yaml.safe_load_all(text)])
        made |= {f"{name}: {each['kind']}": each for each in manifests if json.dumps(each, sort_keys=True) not in known}
    return made


def estate(name: str) -> list[Manifest]:
    """What the policies judge of a cluster of the repository."""
    folder = ROOT / "clusters" / name
    return judged([each for path in (folder / "runtimes", *sorted((folder / "runs").iterdir())) for each in build(path)])


def judged(manifests: list[Manifest]) -> list[Manifest]:
    """Those of some objects that policies are about, and the JobSets that Trainer would make of the TrainJobs."""
    resources = [Resource(manifest=each, unit=Unit(path=Path("objects.yaml"), kustomization=False)) for each in manifests]
    jobsets = []
    for workload in resolve.resolve(resources, cluster().catalog):
        if workload.kind == "TrainJob" and workload.effective:
            metadata = {**workload.effective.value["metadata"], "name": workload.name, "namespace": workload.namespace}
            spec = workload.effective.value["spec"]
            jobsets.append({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": spec})
    return [*(each for each in manifests if each["kind"] in RESOURCES), *jobsets]


def build(folder: Path) -> list[Manifest]:
    return [*yaml.safe_load_all(process.run([tools.binary("kustomize"), "build", folder]))]


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
