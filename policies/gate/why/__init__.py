"""Why a run does not train: one sentence about a live TrainJob, the rule that it matches, and what to do."""

from __future__ import annotations

from dataclasses import dataclass

from gate import rules
from gate.why import jobset, kueue, pods, trainer, training, volcano
from gate.why.causes import Cause, Seen, State, cause
from gate.why.snapshot import Snapshot, name

_LONG = 600  # characters of an event or a line


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """What a run waits for or died of. `rule` is one of `gate rules`, `evidence` the events and lines that say so."""

    cause: str
    state: State
    sentence: str
    todo: str
    rule: str | None
    evidence: tuple[str, ...]

    @property
    def status(self) -> int:
        """Exit status: 1 if it failed or somebody must act, else 0."""
        return int(self.state in ("stuck", "failed"))


@cause("unknown", "stuck", todo="kubectl describe {kind} -n {namespace} {name}, and the objects in the tree above.")
def _unknown(run: Snapshot) -> Seen | None:
    """None of these"""
    lacking = f" ({run.unread[0]})" if run.unread else ""
    return Seen(sentence=f"What was read of it does not say why it does not train{lacking}.")


# the first that is recognised is the answer: what is over, what was never made, what has no quota, no pods, no node; then what runs
CAUSES: tuple[Cause, ...] = (
    *trainer.OVER,
    *jobset.OVER,
    *trainer.BEGUN,
    *kueue.CAUSES,
    *trainer.NOTHING,
    *jobset.MADE,
    *jobset.DYING,
    *pods.PLACED,
    *volcano.CAUSES,
    *training.BEFORE,
    *pods.UNPLACED,
    *volcano.LATER,
    *pods.LATER,
    *pods.STARTING,
    *training.CAUSES,
    *jobset.AGAIN,
    *training.END,
    _unknown,
)
_OF_A_JOBSET = tuple(each for each in CAUSES if each in trainer.MANAGED or each not in (*trainer.OVER, *trainer.BEGUN, *trainer.NOTHING))


def diagnose(run: Snapshot) -> Diagnosis:
    """The first cause that is recognised in a snapshot."""
    tried = CAUSES if run.is_trainjob else _OF_A_JOBSET
    found, seen = next((each, seen) for each in tried if (seen := each.look(run)) is not None)
    rule = (found.rule if seen.rule is None else seen.rule) or None
    own = "" if seen.rule else found.todo.format(**_names(run, seen))  # a rule that the message names says more
    fix = " ".join(rules.rules()[rule].fix.split()) if rule else ""
    todo = seen.todo or own or fix or found.todo.format(**_names(run, seen))
    return Diagnosis(
        cause=found.id, state=found.state, sentence=seen.sentence, todo=todo, rule=rule, evidence=tuple(map(_cut, seen.evidence))
    )


def _cut(text: str) -> str:
    return text if len(text) <= _LONG else text[: _LONG - 1] + "…"


def table() -> str:
    """The table of causes in policies/README.md, in the order in which they are tried."""
    rows = ["| cause | state | what is recognised | rule |", "| --- | --- | --- | --- |"]
    rows += [f"| `{each.id}` | {each.state} | {each.title} | {f'`{each.rule}`' if each.rule else ''} |" for each in CAUSES]
    return "\n".join(rows)


def _names(run: Snapshot, seen: Seen) -> dict[str, str]:
    """What a `todo` may name."""
    pod = next((name(each) for each in run.pods if any(name(each) in text for text in (seen.sentence, *seen.evidence))), "POD")
    return {
        "namespace": run.namespace,
        "name": run.name,
        "kind": str(run.root["kind"]).lower(),
        "workload": name(run.workload) or "WORKLOAD",
        "cluster_queue": name(run.cluster_queue) or "CLUSTERQUEUE",
        "pod": pod,
        "node": "NODE",
    }
