"""What a cause is: one state that a run can be in, recognised by one function, with what to do about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from gate.why.snapshot import Snapshot

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
