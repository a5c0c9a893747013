"""What a cause is: one state that a run can be in, recognised by one function, with what to do about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gate.model import get
from gate.why.snapshot import Snapshot, label, name

State = Literal["fine", "waiting", "stuck", "failed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """That a cause was recognised: the sentence, what it rests on (an event, a line of a log), and what overrides the cause's own."""

    sentence: str
    evidence: tuple[str, ...] = ()
    rule: str | None = None
    todo: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    """`state`: fine (it trains or has trained), waiting (it goes on by itself), stuck (somebody must act), failed (it is over)."""

    id: str
    state: State
    title: str
    todo: str
    rule: str | None
    look: Callable[[Snapshot], Seen | None]


def cause(id: str, state: State, *, todo: str = "", rule: str | None = None) -> Callable[[Callable[[Snapshot], Seen | None]], Cause]:
    """Makes a Cause of the function that recognises it; its docstring is the title. Without `todo` the rule's fix is what to do."""

    def made(look: Callable[[Snapshot], Seen | None]) -> Cause:
        return Cause(id=id, state=state, title=(look.__doc__ or "").strip(), todo=todo, rule=rule, look=look)

    return made


def stop(text: object) -> str:
    """A message as the end of a sentence."""
    words = " ".join(str(text).split())
    return words if words.endswith((".", "!", "?")) else f"{words}."


def shorter(text: str, limit: int) -> str:
    """A text of fewer characters than the limit, or its beginning."""
    return text if len(text) < limit else text[: limit - 1] + "…"


def message(event: Mapping[str, Any], prefix: str = "") -> str:
    """What an event says, in one line and without the words that all of its kind begin with."""
    return " ".join(str(event.get("message", "")).removeprefix(prefix).split())


# What a refusal says → the rule that knows it, and the same in words, which take the pattern's groups.
Refusals = tuple[tuple[str, str | None, str], ...]
WEBHOOK_DOWN = (
    r"failed calling webhook \"([^\"]*)\"",
    None,
    "the webhook {0} does not answer: its controller is down or its certificate is wrong",
)


def refusal(said: str, known: Refusals, limit: int) -> tuple[str | None, str]:
    """The rule and the words of the first refusal that is known; else its own, not longer than `limit` characters."""
    for pattern, rule, text in known:
        if match := re.search(pattern, said):
            return rule, text.format(*match.groups())
    return None, shorter(said, limit)


def few(names: list[str]) -> str:
    """The first of several names, and how many more there are."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def down(run: Snapshot, controller: str) -> str:
    """That a controller's Deployment has no ready pod, if that is known."""
    deployments = [
        each for each in run.all("Deployment") if label(each, "app.kubernetes.io/name") == controller or label(each, "app") == controller
    ]
    down = [each for each in deployments if not get(each, ("status", "availableReplicas"))]
    return f": Deployment {get(down[0], ('metadata', 'namespace'))}/{name(down[0])} has no ready pod" if down else ""
