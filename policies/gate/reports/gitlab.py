"""GitLab's code quality report: one JSON list. It has no place for what is waived."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from gate.model import Finding, Outcome, Problem
from gate.reports import clean, fingerprints, shown

_SEVERITY = {"error": "critical", "warning": "minor", "info": "info"}


def render(outcome: Outcome) -> str:
    prints = fingerprints(outcome, outcome.findings)
    entries = [_problem(outcome, problem) for problem in outcome.problems]
    entries += [_finding(outcome, finding, fingerprint) for finding, fingerprint in zip(outcome.findings, prints, strict=True)]
    return json.dumps(entries, indent=2, ensure_ascii=True)


def _problem(outcome: Outcome, problem: Problem) -> dict[str, Any]:
    return _entry(
        check="could not be checked",
        description=problem.message,
        fingerprint=hashlib.sha256(f"{shown(outcome.root, problem.file)}\0{problem.message}".encode(errors="replace")).hexdigest(),
        severity="blocker",
        file=shown(outcome.root, problem.file),
        line=problem.line,
    )


def _finding(outcome: Outcome, finding: Finding, fingerprint: str) -> dict[str, Any]:
    resource = f"{finding.resource}: " if finding.resource else ""
    return _entry(
        check=finding.rule,
        description=f"{resource}{finding.message}. Fix: {finding.fix}",
        fingerprint=fingerprint,
        severity=_SEVERITY[finding.severity],
        file=shown(outcome.root, finding.place.file),
        line=finding.place.line,
    )


def _entry(*, check: str, description: str, fingerprint: str, severity: str, file: str, line: int | None) -> dict[str, Any]:
    return {
        "check_name": check,
        "description": clean(description),
        "fingerprint": fingerprint,
        "severity": severity,
        # GitLab drops an entry without a file
        "location": {"path": clean(file) or ".", "lines": {"begin": line or 1}},
    }
