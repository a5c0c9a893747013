"""The formats of a report: one module each, with `render(outcome) -> str`. Their names are the values of --format.

All values come from a pull request: a module passes each through `clean` and encodes it as its format demands.
"""

from __future__ import annotations

import collections
import hashlib
import importlib
import os
import pkgutil
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from gate.model import Checked, Finding, Outcome, Problem, Waiver

# Controls, what turns the direction of text or is not seen at all, ends of lines beside \n, what XML and UTF-8 cannot hold;
# and `##[`, which a runner of GitHub takes for a command wherever it stands in a log.
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff\ud800-\udfff"
    r"\U000e0000-\U000e007f]|##(?=\[)"
)


def formats() -> list[str]:
    """The known formats: the modules of this package."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def render(name: str, outcome: Outcome) -> str:
    """The report of an outcome in a format."""
    text: str = importlib.import_module(f"{__name__}.{name}").render(outcome)
    return text


def clean(text: str) -> str:
    """Values come from a pull request: no control character of theirs reaches a terminal or makes a line of its own."""
    return _CONTROL.sub("�", text.replace("\n", " "))


def shown(root: Path, file: Path | None) -> str:
    """A file as reports name it: relative to the repository, absolute where it lies outside."""
    if file is None:
        return ""
    absolute = Path(os.path.normpath(file.absolute()))
    for base in (root, root.resolve()):
        if absolute.is_relative_to(base):
            return str(absolute.relative_to(base))
    return str(absolute)


def place(outcome: Outcome, thing: Finding | Problem | Waiver) -> str:
    """Where something is: file and line, as people write it; "" where a problem has no place."""
    at = thing if isinstance(thing, Problem) else thing.place
    return shown(outcome.root, at.file) + (f":{at.line}" if at.file and at.line else "")


def reached(targets: Sequence[str]) -> list[str]:
    """The targets of something as people read them: runs stand with their cluster where that is among them."""
    runs: dict[str, list[str]] = {target: [] for target in targets}
    for target in targets:
        cluster, _, run = target.rpartition("/runs/")
        if cluster in runs:
            runs[cluster].append(run)
            del runs[target]
    return [f"{target} (runs: {', '.join(own)})" if own else target for target, own in runs.items()]


def account(checked: Checked, outcome: Outcome) -> str:
    """What was looked at in a target."""
    notes = [plural(checked.resources, "object")] if checked.kind != "script" else ["syntax tree"]
    if checked.runs:
        notes.append(f"runs: {', '.join(checked.runs)}")
    if checked.without_cluster and checked.kind != "script":
        notes.append(f"judged without a cluster: {outcome.cluster_rules} of {outcome.rules} rules not applied")
    return "; ".join(notes)


def mark(checked: Checked, outcome: Outcome) -> str:
    """How a target did: ✓, ! for warnings, ✗ for errors, ? where something could not be checked."""
    if checked.failed:
        return "?"
    found = {finding.severity for finding in outcome.findings if checked.name in finding.targets}
    return "✗" if "error" in found else "!" if "warning" in found else "✓"


def accepted(waiver: Waiver) -> str:
    """What a waiver says of itself."""
    return f"until {waiver.expires} by {waiver.owner}: {waiver.reason}"


def verdict(outcome: Outcome) -> str:
    """The one line that everything comes down to."""
    errors, warnings = outcome.count("error"), outcome.count("warning")
    counted = f"{plural(len(outcome.checked), 'target')}, {plural(outcome.resources, 'object')}, {outcome.rules} rules"
    counted += f" in {outcome.seconds:.1f} s"
    counted += f"; {plural(outcome.unaffected, 'target')} not affected by the change" if outcome.unaffected else ""
    found = ", ".join(plural(number, noun) for number, noun in ((errors, "error"), (warnings, "warning")) if number) or "nothing found"
    found += f" ({len(outcome.waived)} waived)" if outcome.waived else ""
    if outcome.problems:
        return f"COULD NOT CHECK EVERYTHING: {plural(len(outcome.problems), 'problem')}; {found} in the rest; {counted}"
    return f"{'REFUSED' if errors else 'PASSED'}: {found}; {counted}"


def plural(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"


def fingerprints(outcome: Outcome, findings: Iterable[Finding]) -> list[str]:
    """For each finding what stays the same when lines move: of its rule, file, object and message, and which of equal ones it is."""
    seen = collections.Counter[str]()
    found = []
    for finding in findings:
        told = (finding.rule, shown(outcome.root, finding.place.file), str(finding.resource or ""), finding.message)
        digest = hashlib.sha256("\0".join(told).encode(errors="replace")).hexdigest()
        seen[digest] += 1
        found.append(digest if seen[digest] == 1 else hashlib.sha256(f"{digest} {seen[digest]}".encode()).hexdigest())
    return found
