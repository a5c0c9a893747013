"""Workflow commands that GitHub shows as annotations at the lines of a pull request, errors first: it shows only some."""

from __future__ import annotations

from gate.model import SEVERITIES, Finding, Outcome
from gate.reports import accepted, clean, place, reached, shown, verdict

_COMMAND = {"error": "error", "warning": "warning", "info": "notice"}


def render(outcome: Outcome) -> str:
    lines = [
        _command("error", shown(outcome.root, problem.file), problem.line, "could not be checked", [problem.message])
        for problem in outcome.problems
    ]
    for finding in sorted(outcome.findings, key=lambda finding: SEVERITIES.index(finding.severity)):
        told = [finding.message, f"fix: {finding.fix}", f"in: {', '.join(reached(finding.targets))}"]
        lines.append(_about(outcome, _COMMAND[finding.severity], finding, told))
    for waived in outcome.waived:
        told = [waived.finding.message, f"waived {accepted(waived.waiver)} ({place(outcome, waived.waiver)})"]
        lines.append(_about(outcome, "notice", waived.finding, told))
    return "\n".join([*lines, verdict(outcome)])


def _about(outcome: Outcome, command: str, finding: Finding, told: list[str]) -> str:
    title = finding.rule + (f" {finding.resource}" if finding.resource else "")
    return _command(command, shown(outcome.root, finding.place.file), finding.place.line, title, told)


def _command(name: str, file: str, line: int | None, title: str, told: list[str]) -> str:
    properties = {"file": file, "line": str(line or "") if file else "", "title": title}
    given = ",".join(f"{key}={_property(value)}" for key, value in properties.items() if value)
    return f"::{name} {given}::{'%0A'.join(_data(each) for each in told)}"


def _data(text: str) -> str:
    return clean(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
