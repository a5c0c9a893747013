"""The manifests of `lab tour jobset`: each states in its head what the gate finds in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gate import check
from gate.evaluate import Evaluator
from tests.conftest import ROOT

TOUR = ROOT / "clusters/lab/tour/jobset"
FILES = sorted(TOUR.rglob("*.yaml"))


@pytest.fixture(scope="module")
def found(opa: Evaluator) -> dict[Path, set[str]]:
    """The rules that find something, by file: all manifests of the tour together, by the lab's facts."""
    outcome = check.check(ROOT, check.targets(ROOT, [TOUR], None), evaluator=opa)
    assert not outcome.problems
    rules: dict[Path, set[str]] = {}
    for each in outcome.findings:
        rules.setdefault(each.place.file, set()).add(each.rule)
    return rules


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(TOUR)))
def test_the_gate_finds_what_the_manifest_states(file: Path, found: dict[Path, set[str]]) -> None:
    (stated,) = re.findall(r"^# The gate: (.*)$", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert found.get(file, set()) == (set() if stated == "nothing" else set(stated.split(", ")))


def test_the_two_mistakes_and_what_is_never_admitted_are_found(found: dict[Path, set[str]]) -> None:
    assert {"jobset/backoff-limit-zero", "queue/kueue-label-place", "queue/within-quota", "queue/volcano-capability"} <= set().union(
        *found.values()
    )


def test_no_application_deploys_it(opa: Evaluator) -> None:
    (lab,) = check.targets(ROOT, [ROOT / "clusters/lab"], None)
    assert not lab.problems
    assert not any(TOUR in unit.path.parents for unit in lab.units)
