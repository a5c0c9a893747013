"""Every rule on inputs that it must refuse and on near misses that it must pass, and on a mutation of the real estate.

Which rules there are is read from their METADATA: a rule without a case that fails, one that passes and a mutation
fails here. Cases are tests/rules/<area>/<rule>.yaml, edits of the valid documents in tests/rules/valid; `besides` names the rules
that speak of a case too, `files` what lies beside its own.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from gate import check, evaluate, facts, rules, tools
from gate.evaluate import Evaluator
from gate.model import Finding, Outcome
from tests.edit import edit_file, edited, line_of

HERE = Path(__file__).resolve().parent
VALID = sorted(path.stem for path in (HERE / "valid").glob("*.yaml"))
tools.setup()  # the rules are read while tests are collected
REGO = [rule.id for rule in rules.rules().values() if rule.file]


def cases_file(rule: str) -> Path:
    return HERE / f"{rule.replace('-', '_')}.yaml"


@functools.cache
def described(rule: str) -> dict[str, Any]:
    file = cases_file(rule)
    content: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else {}
    return content


CASES = [pytest.param(rule, case, id=f"{rule}: {case['name']}") for rule in REGO for case in described(rule).get("cases", [])]


def judge(file: Path, cluster: str, opa: Evaluator) -> Outcome:
    given = None if cluster == "none" else str(HERE / "clusters" / f"{cluster}.yaml")
    return check.check(file.parent, check.targets(file.parent, [file], given), evaluator=opa)


def short(finding: Finding) -> dict[str, Any]:
    """A whole finding as cases write it; the gate's own "(missing: …)" and "(also in …)" are left to their own tests."""
    resource = finding.resource
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "message": re.split(r" \((?:missing: |also in )", finding.message)[0],
        "fix": finding.fix,
        "line": finding.place.line,
        "resource": f"{resource.kind}/{resource.name}" if resource else None,
    }


@pytest.mark.parametrize("name", VALID)
def test_valid_documents_are_clean(name: str, opa: Evaluator) -> None:
    outcome = judge(HERE / "valid" / f"{name}.yaml", name, opa)
    assert [short(finding) for finding in outcome.findings] == []
    assert outcome.problems == []


@pytest.mark.parametrize(("rule", "case"), CASES)
def test_case(rule: str, case: dict[str, Any], tmp_path: Path, opa: Evaluator) -> None:
    text = (HERE / "valid" / f"{case['from']}.yaml").read_text(encoding="utf-8")
    file = tmp_path / "manifests.yaml"
    file.write_text(edited(text, case.get("edits", [])), encoding="utf-8")
    for name, content in case.get("files", {}).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    outcome = judge(file, case.get("cluster", case["from"]), opa)
    expected = []
    for entry in case["expect"]:
        known = rules.rules()[entry["rule"]]
        default = {"severity": known.severity, "fix": known.fix}
        own = HERE / "clusters" / f"{case.get('cluster', case['from'])}.yaml"
        line = line_of(own if entry.get("resource", "") is None else file, entry["line"])
        expected.append({**default, **entry, "message": entry["message"].split(" (missing: ")[0], "line": line})
    left = case.get("besides", ())  # what others say of the case, rightly
    told = [finding for finding in outcome.findings if finding.severity != "info" or finding.rule == rule]
    found = [short(finding) for finding in told if finding.rule not in left]
    key = lambda finding: (finding["line"], finding["rule"], finding["message"])  # noqa: E731
    assert sorted(found, key=key) == sorted(expected, key=key)
    assert outcome.problems == []


@pytest.mark.parametrize("rule", REGO)
def test_rule_has_cases_that_fail_and_that_pass(rule: str) -> None:
    cases = described(rule).get("cases", [])
    assert any(entry["rule"] == rule for case in cases for entry in case["expect"]), f"{cases_file(rule)}: no case that fails"
    assert any(all(entry["rule"] != rule for entry in case["expect"]) for case in cases), f"{cases_file(rule)}: no case that passes"


@pytest.mark.parametrize("rule", REGO)
def test_mutation_of_the_estate_is_caught_at_its_line(rule: str, estate: Path, opa: Evaluator) -> None:
    mutation = described(rule).get("mutation")
    assert mutation, f"{cases_file(rule)}: no mutation of the estate"
    for file, edits in {mutation["file"]: mutation["edits"], **mutation.get("also", {})}.items():
        edit_file(estate / file, *edits)
    outcome = check.check(estate, check.targets(estate, [estate / mutation["target"]], None), evaluator=opa)
    found = [finding for finding in outcome.findings if finding.rule == rule]
    places = {(str(finding.place.file.relative_to(estate)), finding.place.line) for finding in found}
    expected = mutation["expect"]
    assert places == {(expected["file"], line_of(estate / expected["file"], expected["line"]))}
    assert all(mutation["target"] in finding.targets for finding in found)


def test_what_is_found_in_the_facts_keeps_its_severity_and_fix() -> None:
    found = {
        "rule": "versions/tried-together",
        "facts": True,
        "path": ["versions", "trainer"],
        "message": "m",
        "severity": "info",
        "fix": "f",
    }
    fault = evaluate._fault(found, [], [], facts.load(HERE / "clusters" / "kueue.yaml"))
    assert (fault.severity, fault.fix) == ("info", "f")


@pytest.mark.parametrize("rule", REGO)
def test_rule_has_its_test_beside_it_and_says_everything(rule: str) -> None:
    known = rules.rules()[rule]
    assert known.file and known.file.exists(), "the file stands where the id says"
    assert known.file.with_name(f"{known.file.stem}_test.rego").exists()
    assert known.example, "METADATA lacks custom.example"
    assert known.references, "METADATA lacks related_resources"
    assert known.severity in ("error", "warning", "info")


def test_case_files_belong_to_rules() -> None:
    files = {path for path in HERE.glob("*/*.yaml") if path.parent.name not in ("valid", "clusters")}
    assert files == {cases_file(rule) for rule in REGO}


@pytest.mark.parametrize("command", [("check", "--strict"), ("fmt", "--fail", "--list"), ("test", "--timeout=60s")])
def test_opa_finds_the_rules_clean(command: tuple[str, ...]) -> None:
    opa = shutil.which(str(tools.binary("opa")))
    assert opa
    done = subprocess.run([opa, *command, str(rules.FOLDER)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
