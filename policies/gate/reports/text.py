"""The report for people: what was checked, the findings by file, one line of verdict."""

from __future__ import annotations

import io
import itertools
import shutil
import sys
import textwrap
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from gate.model import Checked, Finding, Outcome
from gate.reports import clean, shown

_STYLE = {"error": "bold red", "warning": "yellow", "info": "cyan"}


def render(outcome: Outcome) -> str:
    terminal = sys.stdout.isatty()
    width = min(shutil.get_terminal_size((120, 24)).columns, 120)
    console = Console(file=io.StringIO(), force_terminal=terminal, width=width, highlight=False, soft_wrap=True)
    for checked in outcome.checked:
        console.print(_checked(checked, outcome))
    for line in _problems(outcome):
        console.print(line)
    for file, findings in itertools.groupby(outcome.findings, key=lambda finding: shown(outcome.root, finding.place.file)):
        console.print(Text(f"\n{clean(file)}", style="bold"))
        for finding in findings:
            for line in _finding(finding, width):
                console.print(line)
    for line in _waived(outcome, width):
        console.print(line)
    console.print()
    console.print(_verdict(outcome))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return str(text).rstrip("\n")


def _checked(checked: Checked, outcome: Outcome) -> Text:
    faulty = [f for f in outcome.findings if checked.name in f.targets]
    worst = next((s for s in ("error", "warning", "info") if any(f.severity == s for f in faulty)), None)
    mark, style = ("✗", _STYLE["error"]) if worst == "error" else ("!", _STYLE["warning"]) if worst == "warning" else ("✓", "green")
    mark, style = ("?", _STYLE["error"]) if checked.failed else (mark, style)
    widest = max(len(each.name) for each in outcome.checked)
    line = Text(no_wrap=True)
    line.append(f"{mark} ", style=style)
    line.append(f"{checked.kind:<14}{clean(checked.name):<{widest}}")
    notes = [_plural(checked.resources, "object")] if checked.kind != "script" else ["syntax tree"]
    if checked.runs:
        notes.append(f"runs: {', '.join(checked.runs)}")
    if checked.without_cluster and checked.kind != "script":
        notes.append(f"judged without a cluster: {outcome.cluster_rules} of {outcome.rules} rules not applied")
    line.append(f"  ({'; '.join(notes)})", style="dim")
    return line


def _problems(outcome: Outcome) -> Iterator[Text]:
    if outcome.problems:
        yield Text("\ncould not be checked", style="bold red")
    for problem in outcome.problems:
        place = shown(outcome.root, problem.file)
        place += f":{problem.line}" if problem.line else ""
        yield Text(f"  {clean(place + ': ' if place else '')}{clean(problem.message)}")


def _finding(finding: Finding, width: int) -> Iterator[Text]:
    head = Text(f"  {finding.place.line}: ", no_wrap=True)
    head.append(finding.severity, style=_STYLE[finding.severity])
    head.append(f" {finding.rule}")
    if finding.resource:
        head.append(f"  {clean(str(finding.resource))}", style="dim")
    yield head
    yield from _wrapped(finding.message, "      ", width)
    yield from _wrapped(f"fix: {finding.fix}", "      ", width)
    yield from _wrapped(f"in: {', '.join(finding.targets)}", "      ", width, style="dim")


def _waived(outcome: Outcome, width: int) -> Iterator[Text]:
    if outcome.waived:
        yield Text("\nwaived", style="bold")
    for waived in outcome.waived:
        finding, waiver = waived.finding, waived.waiver
        place = f"{shown(outcome.root, finding.place.file)}:{finding.place.line}"
        yield Text(f"  {clean(place)}: {finding.rule}", no_wrap=True)
        yield from _wrapped(f"until {waiver.expires} by {waiver.owner}: {waiver.reason}", "      ", width, style="dim")


def _wrapped(text: str, indent: str, width: int, style: str = "") -> Iterator[Text]:
    for line in textwrap.wrap(clean(text), max(width - len(indent), 40), break_long_words=False, break_on_hyphens=False):
        yield Text(indent + line, style=style)


def _verdict(outcome: Outcome) -> Text:
    errors, warnings = outcome.count("error"), outcome.count("warning")
    counted = f"{_plural(len(outcome.checked), 'target')}, {_plural(outcome.resources, 'object')}, {outcome.rules} rules"
    counted += f" in {outcome.seconds:.1f} s"
    counted += f"; {_plural(outcome.unaffected, 'target')} not affected by the change" if outcome.unaffected else ""
    found = ", ".join(_plural(number, noun) for number, noun in ((errors, "error"), (warnings, "warning")) if number) or "nothing found"
    found += f" ({len(outcome.waived)} waived)" if outcome.waived else ""
    if outcome.problems:
        return Text(
            f"COULD NOT CHECK EVERYTHING: {_plural(len(outcome.problems), 'problem')}; {found} in the rest; {counted}", style="bold red"
        )
    if errors:
        return Text(f"REFUSED: {found}; {counted}", style="bold red")
    return Text(f"PASSED: {found}; {counted}", style="bold green")


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"
