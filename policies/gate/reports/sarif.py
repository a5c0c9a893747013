"""SARIF 2.1.0, as code scanning reads it: the rules with their help, a result for each finding, waived ones as suppressed."""

from __future__ import annotations

import importlib.metadata
import json
import re
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gate import rules
from gate.model import Finding, Outcome, Problem, Rule, Waived
from gate.reports import accepted, clean, fingerprints, place, reached, shown

_VERSION = importlib.metadata.version("tf-trainer-gitops")
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVEL = {"error": "error", "warning": "warning", "info": "note"}
# What a reader of SARIF would take for a placeholder or a link.
_PLACEHOLDER = re.compile(r"\{(\d+)\}")
_LINK = re.compile(r"\](?=\()")


def render(outcome: Outcome) -> str:
    known = list(rules.rules().values())
    index = {rule.id: number for number, rule in enumerate(known)}
    findings = [*outcome.findings, *(waived.finding for waived in outcome.waived)]
    results = [_result(outcome, finding, index, each) for finding, each in zip(findings, fingerprints(outcome, findings), strict=True)]
    for result, waived in zip(results[len(outcome.findings) :], outcome.waived, strict=True):
        result["suppressions"] = [_suppression(outcome, waived)]
    run = {
        "tool": {"driver": {"name": "gate", "semanticVersion": _VERSION, "rules": [_rule(rule) for rule in known]}},
        "invocations": [
            {
                "executionSuccessful": not outcome.problems,
                "exitCode": outcome.status,
                "toolExecutionNotifications": [_notification(outcome, problem) for problem in outcome.problems],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=True)


def _rule(rule: Rule) -> dict[str, Any]:
    help_ = [rule.description, f"Fix: {rule.fix}"]
    marked = [rule.description, f"**Fix:** {rule.fix}"]
    if rule.example:
        help_.append(f"An example of the fault:\n{rule.example}")
        marked.append(f"An example of the fault:\n\n```\n{rule.example}\n```")
    marked += [f"- <{url}> {what}".rstrip() for url, what in rule.references]
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.description},
        "help": {"text": "\n\n".join(help_), "markdown": "\n\n".join(marked)},
        "defaultConfiguration": {"level": _LEVEL[rule.severity]},
        "properties": {"tags": [rule.id.partition("/")[0]]},
    }


def _result(outcome: Outcome, finding: Finding, index: Mapping[str, int], fingerprint: str) -> dict[str, Any]:
    location = _location(outcome, finding.place.file, finding.place.line)
    if finding.resource:
        location["logicalLocations"] = [{"fullyQualifiedName": clean(str(finding.resource)), "kind": "resource"}]
    return {
        "ruleId": finding.rule,
        "ruleIndex": index[finding.rule],
        "level": _LEVEL[finding.severity],
        "message": {"text": _text(f"{finding.message}\nFix: {finding.fix}\nIn: {', '.join(reached(finding.targets))}")},
        "locations": [location],
        "partialFingerprints": {"gateFinding/v1": fingerprint},
        "properties": {"targets": [clean(target) for target in finding.targets]},
    }


def _suppression(outcome: Outcome, waived: Waived) -> dict[str, Any]:
    justification = _text(f"{accepted(waived.waiver)} ({place(outcome, waived.waiver)})")
    return {"kind": "external", "status": "accepted", "justification": justification}


def _notification(outcome: Outcome, problem: Problem) -> dict[str, Any]:
    notification: dict[str, Any] = {"level": "error", "message": {"text": _text(problem.message)}}
    if problem.file:
        notification["locations"] = [_location(outcome, problem.file, problem.line)]
    return notification


def _location(outcome: Outcome, file: Path, line: int | None) -> dict[str, Any]:
    name = shown(outcome.root, file)
    encoded = urllib.parse.quote(name, errors="surrogateescape")
    artifact = {"uri": f"file://{encoded}"} if Path(name).is_absolute() else {"uri": encoded, "uriBaseId": "%SRCROOT%"}
    return {"physicalLocation": {"artifactLocation": artifact, "region": {"startLine": line or 1}}}


def _text(text: str) -> str:
    lines = (clean(line) for line in text.split("\n"))
    return _LINK.sub("] ", _PLACEHOLDER.sub(r"{{\1}}", "\n".join(lines)))
