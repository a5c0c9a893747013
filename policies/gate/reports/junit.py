"""JUnit XML: each rule is a test, which fails where an error was found; what could not be checked is an error."""

from __future__ import annotations

import io

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from gate import rules
from gate.model import Finding, Outcome, Problem, Rule, Waived
from gate.reports import accepted, clean, place, plural, reached


def render(outcome: Outcome) -> str:
    suite = TestSuite("gate")
    suite.add_testcases([_unchecked(outcome, problem) for problem in outcome.problems])
    if outcome.checked:
        suite.add_testcases([_case(outcome, rule) for rule in rules.rules().values()])
    report = JUnitXml("gate")
    report.add_testsuite(suite)
    report.update_statistics()  # type: ignore[no-untyped-call]
    report.time = suite.time = round(outcome.seconds, 3)
    stream = io.BytesIO()
    report.write(stream)
    return stream.getvalue().decode()


def _unchecked(outcome: Outcome, problem: Problem) -> TestCase:
    case = TestCase(f"could not be checked: {clean(place(outcome, problem))}".rstrip(": "), "gate")
    case.result = [Error(clean(problem.message))]
    return case


def _case(outcome: Outcome, rule: Rule) -> TestCase:
    case = TestCase(rule.id, f"gate.{rule.id.partition('/')[0]}")
    found = [finding for finding in outcome.findings if finding.rule == rule.id]
    waived = [each for each in outcome.waived if each.finding.rule == rule.id]
    told = "\n\n".join([*(_told(outcome, finding) for finding in found), *(_excused(outcome, each) for each in waived)])
    errors = sum(finding.severity == "error" for finding in found)
    if errors:
        failure = Failure(f"{rule.title}: {plural(errors, 'error')}", "error")
        failure.text = told
        case.result = [failure]
    elif rule.needs_cluster and all(checked.without_cluster for checked in outcome.checked):
        case.result = [Skipped("not applied without a cluster")]
    elif waived and not found:
        case.result = [Skipped(clean("; ".join(f"waived {accepted(each.waiver)}" for each in waived)))]
    if told and not errors:
        case.system_out = told
    return case


def _told(outcome: Outcome, finding: Finding) -> str:
    resource = f" {finding.resource}" if finding.resource else ""
    lines = [
        f"{place(outcome, finding)}: {finding.severity}{resource}",
        finding.message,
        f"fix: {finding.fix}",
        f"in: {', '.join(reached(finding.targets))}",
    ]
    return "\n".join(clean(line) for line in lines)


def _excused(outcome: Outcome, waived: Waived) -> str:
    return f"{_told(outcome, waived.finding)}\n{clean(f'waived {accepted(waived.waiver)}')}"
