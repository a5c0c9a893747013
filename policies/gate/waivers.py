"""Waivers: findings that a repository accepts for a while, in its policies/waivers.yaml.

A waiver names one rule, where it holds, who answers for it, why, and until when. It never hides what could not be checked
(exit status 2), nor a rule that leaves its target unjudged.
"""

from __future__ import annotations

import datetime
import difflib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from gate import source, tools
from gate.model import Fault, GateError, Place, Resource, Rule, Waiver

FILE = Path("policies", "waivers.yaml")
NOT_EXPIRED = "waivers/not-expired"
USED = "waivers/used"
_SCHEMA = tools.POLICIES / "schemas" / "waivers.schema.json"
RULES = (
    Rule(
        id=NOT_EXPIRED,
        title="A waiver is not older than its date",
        description="A waiver accepts a fault until a day that its owner has named. After it the fault counts again, and the waiver "
        "has to go.",
        severity="error",
        fix="Mend what was waived and remove the waiver, or have its owner agree to a later date.",
        example="- rule: script/no-download\n  scope: {target: clusters/lab}\n  owner: ml-platform\n"
        '  reason: the volume with the data comes in March\n  expires: "2026-03-31"   # and today is in April',
        waivable=False,
        seen=("lab: tests/gate/test_waivers.py::test_an_expired_waiver_is_an_error_wherever_it_holds",),
    ),
    Rule(
        id=USED,
        title="A waiver hides something",
        description="A waiver that no finding needs any more would hide the next one of its rule without a word. Told only by a check of "
        "the whole repository, in which everything could be checked.",
        severity="warning",
        fix="Remove the waiver.",
        waivable=False,
        seen=("lab: tests/gate/test_waivers.py::test_an_unused_waiver_is_told_by_a_check_of_everything",),
    ),
)


def load(root: Path, known: Mapping[str, Rule]) -> list[Waiver]:
    """The waivers of a repository; none where it has no policies/waivers.yaml. Raises GateError where one is malformed."""
    file = root / FILE
    if not os.path.lexists(file):
        return []
    document = source.load_valid(file, _SCHEMA)
    return [_waiver(document, index, known) for index in range(len(document.value["waivers"]))]


def _waiver(document: source.Document, index: int, known: Mapping[str, Rule]) -> Waiver:
    entry = document.value["waivers"][index]
    rule = known.get(entry["rule"])
    if rule is None or not rule.waivable:
        close = difflib.get_close_matches(entry["rule"], known, n=1)
        hint = f"; did you mean {close[0]}?" if close else "; `gate rules` lists them"
        message = f"{entry['rule']} cannot be waived" if rule else f"there is no rule {entry['rule']}{hint}"
        raise GateError(message, file=document.file, line=document.line(("waivers", index, "rule")))
    try:
        expires = datetime.date.fromisoformat(entry["expires"])
    except ValueError as error:
        line = document.line(("waivers", index, "expires"))
        raise GateError(f"expires: there is no day {entry['expires']}", file=document.file, line=line) from error
    return Waiver(
        rule=rule.id,
        file=entry["scope"].get("file", ""),
        target=entry["scope"].get("target", ""),
        resource=entry["scope"].get("resource", ""),
        owner=entry["owner"],
        reason=entry["reason"],
        expires=expires,
        place=Place(file=document.file, line=document.line(("waivers", index))),
    )


def today() -> datetime.date:
    return datetime.datetime.now(datetime.UTC).date()


def expired(waivers: Sequence[Waiver]) -> list[Fault]:
    """Faults for the waivers whose last day has passed."""
    return [
        _fault(NOT_EXPIRED, waiver, f"{_described(waiver)} ended on {waiver.expires}") for waiver in waivers if waiver.expires < today()
    ]


def unused(waivers: Sequence[Waiver], used: Sequence[Waiver]) -> list[Fault]:
    """Faults for the waivers that still hold and hid nothing."""
    return [
        _fault(USED, waiver, f"{_described(waiver)} hides nothing")
        for waiver in waivers
        if waiver.expires >= today() and not any(waiver is each for each in used)
    ]


def find(waivers: Sequence[Waiver], rule: str, file: str, reached: Sequence[str], resource: Resource | None) -> Waiver | None:
    """The first waiver that still holds and covers a fault, given its file and targets as reports name them."""
    return next(
        (
            waiver
            for waiver in waivers
            if waiver.rule == rule
            and waiver.expires >= today()
            and (not waiver.file or waiver.file == file)
            and (not waiver.target or any(_within(target, waiver.target) for target in reached))
            and (not waiver.resource or waiver.resource == str(resource))
        ),
        None,
    )


def _within(target: str, scope: str) -> bool:
    """Whether a target is the one that a scope names, or below it; a room like clusters/ names nothing below it."""
    return target == scope or ("/" in scope and target.startswith(f"{scope}/"))


def _described(waiver: Waiver) -> str:
    scope = " and ".join(part for part in (waiver.file, waiver.target, waiver.resource) if part)
    return f"the waiver of {waiver.rule} for {scope} (owner: {waiver.owner})"


def _fault(rule: str, waiver: Waiver, message: str) -> Fault:
    return Fault(rule=rule, message=message, resource=None, place=waiver.place)


__all__ = ["FILE", "RULES", "expired", "find", "load", "unused"]
