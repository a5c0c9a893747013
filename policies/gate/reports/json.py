"""One JSON object for other programs."""

from __future__ import annotations

import json
from typing import Any

from gate.model import Finding, Outcome
from gate.reports import shown


def render(outcome: Outcome) -> str:
    document = {
        "findings": [_finding(outcome, finding) for finding in outcome.findings],
        "waived": [
            {
                **_finding(outcome, waived.finding),
                "waiver": {
                    "owner": waived.waiver.owner,
                    "reason": waived.waiver.reason,
                    "expires": waived.waiver.expires.isoformat(),
                    "file": shown(outcome.root, waived.waiver.place.file),
                    "line": waived.waiver.place.line,
                },
            }
            for waived in outcome.waived
        ],
        "problems": [
            {
                "message": problem.message,
                "targets": problem.targets,
                "file": shown(outcome.root, problem.file) or None,
                "line": problem.line,
            }
            for problem in outcome.problems
        ],
        "summary": {
            "targets": len(outcome.checked),
            "resources": outcome.resources,
            "errors": outcome.count("error"),
            "warnings": outcome.count("warning"),
            "infos": outcome.count("info"),
            "waived": len(outcome.waived),
            "seconds": round(outcome.seconds, 3),
        },
    }
    return json.dumps(document, indent=2, ensure_ascii=True)


def _finding(outcome: Outcome, finding: Finding) -> dict[str, Any]:
    resource = finding.resource
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "message": finding.message,
        "fix": finding.fix,
        "targets": list(finding.targets),
        "file": shown(outcome.root, finding.place.file),
        "line": finding.place.line,
        "resource": resource
        and {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "namespace": resource.namespace or None,
            "name": resource.name,
        },
    }
