"""The admission policies of base/admission, evaluated here, judge like the rules; tests/lab asks the API server the same."""

from __future__ import annotations

from typing import Any

import cel
import pytest

from gate.evaluate import Evaluator
from gate.model import Manifest
from tests.admission import shared

OBJECTS = shared.objects()


def refused_by_policies(manifest: Manifest) -> set[str]:
    """The rules that the policies' messages name for a new object, as the API server evaluates them."""
    refused = set()
    for policy in shared.policies()[0]:
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
    assert refused_by_policies(manifest) == shared.refused_by_rules(manifest, opa)


def test_every_rule_with_a_policy_refuses_and_admits_something() -> None:
    verdicts = [refused_by_policies(manifest) for manifest in OBJECTS.values()]
    assert set().union(*verdicts) == set(shared.RULES)
    assert sum(not verdict for verdict in verdicts) > len(verdicts) / 4
