"""The admission policies of base/admission, evaluated here, judge like the rules; tests/lab asks the API server the same."""

from __future__ import annotations

from typing import Any

import cel
import pytest

from gate.evaluate import Evaluator
from gate.model import Manifest
from tests.admission import shared
from tests.conftest import ROOT

OBJECTS = shared.objects()
POLICIES, _ = shared.policies_of_the_cases()
CLUSTERS = sorted(path.parent.name for path in ROOT.glob("clusters/*/cluster.yaml"))


def refused_by_policies(manifest: Manifest, policies: list[Manifest]) -> set[str]:
    """The rules that the policies' messages name for a new object, as the API server evaluates them."""
    refused = set()
    for policy in policies:
        given: dict[str, Any] = {"object": manifest, "request": {"operation": "CREATE"}, "variables": {}}
        spec = policy["spec"]
        conditions = (condition["expression"] for condition in spec.get("matchConditions", []))
        if not shared.matches(policy, manifest) or not all(_holds(condition, given) for condition in conditions):
            continue
        for variable in spec.get("variables", []):
            given["variables"][variable["name"]] = cel.evaluate(variable["expression"], given)
        broken = [each["message"] for each in spec["validations"] if not _holds(each["expression"], given)]
        refused |= {shared.rule_of(message) for message in broken}
    return refused


def _holds(expression: str, given: dict[str, Any]) -> bool:
    answer = cel.evaluate(expression, given)
    assert isinstance(answer, bool), expression
    return answer


@pytest.mark.parametrize("name", OBJECTS)
def test_rules_and_policies_judge_alike(name: str, opa: Evaluator) -> None:
    manifest = OBJECTS[name]
    assert refused_by_policies(manifest, POLICIES) == shared.refused_by_rules(manifest, opa)


def test_every_rule_with_a_policy_refuses_and_admits_something() -> None:
    verdicts = [refused_by_policies(manifest, POLICIES) for manifest in OBJECTS.values()]
    assert set().union(*verdicts) == set(shared.RULES)
    assert sum(not verdict for verdict in verdicts) > len(verdicts) / 4


@pytest.mark.parametrize("name", CLUSTERS)
def test_every_run_of_the_repository_is_admitted_and_a_privileged_one_is_not(name: str) -> None:
    policies, bindings = shared.policies(ROOT / "clusters" / name / "admission")
    namespaces = [each["metadata"]["labels"] for each in shared.build(ROOT / "clusters" / name / "namespaces")]
    assert all(each == namespaces[0] for each in namespaces)
    labels = namespaces[0].items()
    selected = {
        each["spec"]["policyName"]
        for each in bindings
        if each["spec"]["matchResources"].get("namespaceSelector", {"matchLabels": {}})["matchLabels"].items() <= labels
    }
    held = [policy for policy in policies if policy["metadata"]["name"] in selected]
    estate = shared.estate(name)
    assert {each["kind"] for each in estate} == {"ClusterTrainingRuntime", "TrainJob", "JobSet"}
    for manifest in estate:
        assert refused_by_policies(manifest, held) == set()
        if manifest["kind"] == "TrainJob":
            assert refused_by_policies(shared.privileged(manifest), held) == {"run/allowed-overrides"}
