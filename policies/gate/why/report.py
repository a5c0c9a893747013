"""What `gate why` prints: for people, and for programs."""

from __future__ import annotations

import io
import json
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from gate.reports import clean
from gate.why import Diagnosis
from gate.why.snapshot import Snapshot
from gate.why.tree import rows

_MARK = {"fine": ("✓", "green"), "waiting": ("…", "yellow"), "stuck": ("✗", "bold red"), "failed": ("✗", "bold red")}
Answer = tuple[Snapshot, Diagnosis]


def as_json(answers: Sequence[Answer]) -> str:
    """One JSON object."""
    return json.dumps({"trainjobs": [_document(run, found) for run, found in answers]}, indent=2, ensure_ascii=True)


def _document(run: Snapshot, found: Diagnosis) -> dict[str, object]:
    return {
        "namespace": run.namespace,
        "name": run.name,
        "state": found.state,
        "cause": found.cause,
        "sentence": found.sentence,
        "rule": found.rule,
        "evidence": list(found.evidence),
        "todo": found.todo,
        "objects": [
            {"kind": row.kind, "name": row.name, "depth": row.depth, "state": row.state, "age": row.age or None} for row in rows(run)
        ],
        "unread": list(run.unread),
    }


def as_text(run: Snapshot, found: Diagnosis) -> str:
    """The sentence, the chain of objects, what says so, what to do."""
    return _printed(_one(run, found))


def as_table(answers: Sequence[Answer]) -> str:
    """A line of state, run and age, and the sentence, for each run; those that need somebody first."""
    return _printed(_all(answers)) if answers else "every TrainJob is Complete, or there is none"


def _printed(lines: Iterator[Text]) -> str:
    console = Console(file=io.StringIO(), force_terminal=sys.stdout.isatty(), width=_width(), highlight=False, soft_wrap=True)
    for line in lines:
        console.print(line)
    return str(console.file.getvalue()).rstrip("\n")  # type: ignore[attr-defined]


def _width() -> int:
    return min(shutil.get_terminal_size((120, 24)).columns, 120)


def _one(run: Snapshot, found: Diagnosis) -> Iterator[Text]:
    mark, style = _MARK[found.state]
    yield from _wrapped(f"{mark} {found.sentence}", "", style)
    yield Text(f"  {clean(run.namespace)}/{clean(run.name)}: {found.state}, {found.cause}", style="dim")
    yield Text()
    table = [(_branch(row.depth) + row.kind, row.name, row.state, row.age) for row in rows(run)]
    widths = [max(len(clean(each[column])) for each in table) for column in range(3)]
    for each in table:
        yield Text("  ".join(f"{clean(cell):<{width}}" for cell, width in zip(each, [*widths, 0], strict=True)).rstrip(), no_wrap=True)
    yield from _part("what says so", found.evidence)
    explain = [f"gate explain {found.rule}"] if found.rule else []
    yield from _part("what to do", [*([found.todo] if found.todo else []), *explain])
    yield from _part("not seen", run.unread)


def _branch(depth: int) -> str:
    return "  " * (depth - 1) + "└ " if depth else ""


def _part(title: str, texts: Sequence[str]) -> Iterator[Text]:
    if texts:
        yield Text(f"\n{title}", style="bold")
    for each in texts:
        yield from _wrapped(each, "  ")


def _wrapped(text: str, indent: str, style: str = "") -> Iterator[Text]:
    lines = textwrap.wrap(clean(text), _width() - len(indent), break_long_words=False, break_on_hyphens=False)
    for number, line in enumerate(lines):
        yield Text(indent + ("  " if number else "") + line, style=style)


def _all(answers: Sequence[Answer]) -> Iterator[Text]:
    order = list(_MARK)[::-1]
    widest = max(len(f"{run.namespace}/{run.name}") for run, _ in answers)
    for run, found in sorted(answers, key=lambda each: (order.index(each[1].state), each[0].namespace, each[0].name)):
        mark, style = _MARK[found.state]
        line = Text(f"{mark} {found.state:<7}  ", style=style)
        line.append(f"{clean(f'{run.namespace}/{run.name}'):<{widest}}  {run.age(run.root)}", style="bold")
        yield line
        yield from _wrapped(found.sentence, "    ")
    for each in dict.fromkeys(text for run, _ in answers for text in run.unread):
        yield Text(f"not seen: {clean(each)}", style="dim")
