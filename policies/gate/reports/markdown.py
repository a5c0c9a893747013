"""A summary for a pull request. What may hold a value of the pull request stands in code spans, where nothing is a link,
a mention or HTML; only what the rules themselves say is prose."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gate import rules
from gate.model import SEVERITIES, Finding, Outcome
from gate.reports import accepted, account, clean, mark, place, plural, reached, verdict

MOST = 100  # a summary that nobody reads to its end helps nobody, and GitHub takes 1 MiB
_LONGEST = 1000


def render(outcome: Outcome) -> str:
    return "\n\n".join(_blocks(outcome))


def _blocks(outcome: Outcome) -> Iterator[str]:
    sign = "❔" if outcome.problems else "❌" if outcome.status else "✅"
    yield f"## {sign} {verdict(outcome)}"
    if outcome.problems:
        yield "### Could not be checked"
        yield "\n".join(_item(place(outcome, problem), problem.message) for problem in outcome.problems[:MOST])
        yield from _more(len(outcome.problems))
    findings = sorted(outcome.findings, key=lambda finding: SEVERITIES.index(finding.severity))
    if findings:
        yield "### What to mend"
    for finding in findings[:MOST]:
        yield from _finding(outcome, finding)
    yield from _more(len(findings))
    if outcome.waived:
        yield "### Waived"
        waived = outcome.waived[:MOST]
        yield "\n".join(f"- `{each.finding.rule}` {code(place(outcome, each.finding))}: {code(accepted(each.waiver))}" for each in waived)
        yield from _more(len(outcome.waived))
    if outcome.checked:
        checked = "\n".join(
            f"- {mark(each, outcome)} {each.kind} {code(each.name)}: {code(account(each, outcome))}" for each in outcome.checked
        )
        yield f"<details><summary>What was checked: {plural(len(outcome.checked), 'target')}</summary>\n\n{checked}\n\n</details>"


def _finding(outcome: Outcome, finding: Finding) -> Iterator[str]:
    rule = rules.rules()[finding.rule]
    yield f"#### {finding.severity}: {_prose(rule.title)}"
    where = [f"`{rule.id}`", code(place(outcome, finding)), *([code(str(finding.resource))] if finding.resource else [])]
    yield " · ".join(where)
    yield f"> {code(finding.message)}"
    yield f"**Fix:** {_prose(rule.fix) if finding.fix == rule.fix else code(finding.fix)}"
    yield f"Reaches {', '.join(code(target) for target in reached(finding.targets))}"


def _item(where: str, message: str) -> str:
    return f"- {code(where)}: {code(message)}" if where else f"- {code(message)}"


def _more(number: int) -> Iterator[str]:
    if number > MOST:
        yield f"… and {number - MOST} more, which the other reports show."


def code(text: str) -> str:
    """A code span that its text cannot end: fenced by more backticks than it holds in a row."""
    text = clean(text)
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    pad = " " if not text.strip() or text[0] in "` " or text[-1] in "` " else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _prose(text: str) -> str:
    """What a rule says, with its own code spans: but for those, no HTML."""
    return "".join(
        part if index % 2 else part.replace("<", "\\<") for index, part in enumerate(re.split("(`[^`]*`)", " ".join(text.split())))
    )
