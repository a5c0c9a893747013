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
from gate.reports import accepted, account, clean, mark, place, reached, shown, verdict

_STYLE = {"error": "bold red", "warning": "yellow", "info": "cyan"}
_MARK = {"✓": "green", "!": _STYLE["warning"], "✗": _STYLE["error"], "?": _STYLE["error"]}


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
    console.print(Text(verdict(outcome), style="bold red" if outcome.status else "bold green"))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return str(text).rstrip("\n")


def _checked(checked: Checked, outcome: Outcome) -> Text:
    widest = max(len(each.name) for each in outcome.checked)
    line = Text(no_wrap=True)
    line.append(f"{mark(checked, outcome)} ", style=_MARK[mark(checked, outcome)])
    line.append(f"{checked.kind:<14}{clean(checked.name):<{widest}}")
    line.append(f"  ({account(checked, outcome)})", style="dim")
    return line


def _problems(outcome: Outcome) -> Iterator[Text]:
    if outcome.problems:
        yield Text("\ncould not be checked", style="bold red")
    for problem in outcome.problems:
        where = place(outcome, problem)
        yield Text(f"  {clean(where + ': ' if where else '')}{clean(problem.message)}")
        if problem.targets:
            yield Text(f"      in: {clean(', '.join(reached(problem.targets)))}", style="dim")


def _finding(finding: Finding, width: int) -> Iterator[Text]:
    head = Text(f"  {finding.place.line}: ", no_wrap=True)
    head.append(finding.severity, style=_STYLE[finding.severity])
    head.append(f" {finding.rule}")
    if finding.resource:
        head.append(f"  {clean(str(finding.resource))}", style="dim")
    yield head
    yield from _wrapped(finding.message, "      ", width)
    yield from _wrapped(f"fix: {finding.fix}", "      ", width)
    yield from _wrapped(f"in: {', '.join(reached(finding.targets))}", "      ", width, style="dim")


def _waived(outcome: Outcome, width: int) -> Iterator[Text]:
    if outcome.waived:
        yield Text("\nwaived", style="bold")
    for waived in outcome.waived:
        finding, waiver = waived.finding, waived.waiver
        yield Text(f"  {clean(place(outcome, finding))}: {finding.rule}", no_wrap=True)
        yield from _wrapped(accepted(waiver), "      ", width, style="dim")


def _wrapped(text: str, indent: str, width: int, style: str = "") -> Iterator[Text]:
    for line in textwrap.wrap(clean(text), max(width - len(indent), 40), break_long_words=False, break_on_hyphens=False):
        yield Text(indent + line, style=style)
