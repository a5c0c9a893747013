"""Which worker of a gang died first, and of what: its container's state, the pod's, and the last line that it wrote."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from datetime import datetime

from gate import rules
from gate.model import Manifest, get
from gate.why.snapshot import Snapshot, condition, index, moment_of, name, phase, statuses

NOT_IN_DNS = r"is not in DNS|is neither in /etc/hosts nor in DNS|DNS does not give"  # in tfrun's words
_COUNT = "trainer/worker-count"
DEADLINE = "jobset/deadline-ends-the-run"
LATE = "DeadlineExceeded"  # of a Job's condition, of a pod, and of their events
_TOGETHER = 30  # seconds within which the workers of a gang follow the first one
_LOST = r"UnavailableError|CancelledError|Cluster check alive failed|Connection (reset|refused)|Socket closed|incarnation"
_LONE = "jobset/backoff-limit-zero"  # its symptoms are also what the others of a gang say when one has died


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """One way to die, and what to do about it."""

    title: str
    todo: str
    rule: str | None = None


KINDS = {
    "out-of-memory": Kind(
        title="A worker used more memory than its limit",
        todo="Give the workers more memory (trainer.resourcesPerNode), or make the batch, the prefetching or the shared memory smaller: "
        "files in /dev/shm count as well.",
    ),
    "evicted": Kind(
        title="A worker was evicted from its node",
        todo="Look at what the message names: an emptyDir above its sizeLimit, or a node without memory or disk. What is written "
        "belongs on a "
        "claim or an emptyDir that is large enough.",
    ),
    "deadline": Kind(
        title="A Job or a pod of it ran longer than its activeDeadlineSeconds",
        todo="Make another run with a longer deadline. That of a run is spec.activeDeadlineSeconds of the TrainJob.",
    ),
    "disrupted": Kind(
        title="A worker was stopped by the cluster: preempted, drained, its node lost",
        todo="Nothing, if restarts are left: the gang resumes from its checkpoint. More failurePolicy.maxRestarts survive more of it.",
    ),
    "bad-value": Kind(
        title="A worker was started with a value that cannot work (status 2)",
        todo="Mend the variable or the data that the line names; a restart does not help.",
    ),
    "no-agreement": Kind(
        title="The workers did not find one another in time (tfrun's status 81)",
        todo="The line says who was missing or which name did not resolve; TF_DISCOVERY_TIMEOUT is how long they wait.",
    ),
    "cannot-start": Kind(
        title="The command of a worker cannot be run",
        todo="Mend trainer.command or the image: the command must exist in it and be executable.",
    ),
    "stopped": Kind(
        title="A worker was ended by a signal",
        todo="SIGTERM and SIGKILL come from outside: look who deleted or drained the pod (kubectl get events -n {namespace}), and whether "
        "its grace period was long enough to save. SIGSEGV, SIGABRT and SIGBUS come from the program or its libraries.",
    ),
    "crashed": Kind(
        title="The training ended with an error",
        todo="Read the whole log: kubectl logs -n {namespace} {pod}.",
    ),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Death:
    """How a worker died: `what` as a part of a sentence, without its full stop."""

    kind: str
    pod: str
    what: str
    line: str
    evidence: tuple[str, ...]
    rule: str | None

    @property
    def todo(self) -> str:
        return KINDS[self.kind].todo


def death(run: Snapshot, pods: list[Manifest] | None = None) -> Death | None:
    """The first death among these pods (default: those of this attempt), or None if nobody has died."""
    if pods is None and (late := _late(run)):
        return late
    dead: list[tuple[datetime, Manifest, Manifest | None]] = []
    for pod in run.pods if pods is None else pods:
        ends = [
            (status, end)
            for status in statuses(pod)
            for end in (get(status, ("state", "terminated")), get(status, ("lastState", "terminated")))
            if end and end.get("exitCode")
        ]
        if ends:
            status, end = min(ends, key=lambda each: moment_of(each[1].get("finishedAt")))
            dead.append((moment_of(end.get("finishedAt")), pod, {**end, "container": status.get("name")}))
        elif phase(pod) == "Failed":
            dead.append((moment_of((condition(pod, "DisruptionTarget") or {}).get("lastTransitionTime")), pod, None))
    if not dead:
        return None
    # a gang that loses one worker loses the others after it, and Kubernetes counts in seconds
    dead.sort(key=lambda each: (each[0], index(each[1])))
    near = [each for each in dead if (each[0] - dead[0][0]).total_seconds() <= _TOGETHER]
    first = next((each for each in near if not _survivor(run, each[1])), dead[0])
    return _death(run, first[1], first[2])


def _late(run: Snapshot) -> Death | None:
    """That a Job took longer than it may: what its pods ended with says nothing then, for the Job has stopped them."""
    ends = ((job, condition(job, kind) or {}) for job in run.jobs for kind in ("Failed", "FailureTarget"))
    job = next((job for job, end in ends if end.get("reason") == LATE), None)
    if job is None:
        return None
    seconds = get(job, ("spec", "activeDeadlineSeconds"))
    return Death(
        kind="deadline",
        pod="",
        what=f"its Job {name(job)} was not done after its activeDeadlineSeconds of {seconds}",
        line="",
        evidence=tuple(f"Job {name(job)}: {LATE}: {each.get('message')}" for each in run.events(job, LATE)[:1]),
        rule=_deadline(run),
    )


def _deadline(run: Snapshot) -> str | None:
    """The rule about deadlines below the run, where they do not end it."""
    return DEADLINE if get(run.jobset, ("spec", "failurePolicy", "maxRestarts")) else None


def _survivor(run: Snapshot, pod: Manifest) -> bool:
    """Whether a worker says that it lost another one."""
    return any(re.search(_LOST, each) for log in run.log(pod) for each in lines(log.text)[-15:])


def _death(run: Snapshot, pod: Manifest, end: Manifest | None) -> Death:
    called = name(pod)
    code = int((end or {}).get("exitCode") or 0)
    reason = str((end or {}).get("reason") or "")
    lives = [log.text for log in run.log(pod) if end is None or log.container == end["container"]]
    line = last_line("\n".join(lives))
    found = _by_symptom(run, lives)
    worker = f"worker {index(pod)} ({called})"
    disrupted = condition(pod, "DisruptionTarget")
    evidence = [f"log of {called}: {found[1] if found else line}"] if found or line else []
    if reason == "OOMKilled":
        limit = _limit(pod, str((end or {}).get("container")))
        kind, what = "out-of-memory", f"{worker} was killed for using more memory than its limit{f' of {limit}' if limit else ''}"
    elif get(pod, ("status", "reason")) == "Evicted":
        said = str(get(pod, ("status", "message"), "")).strip().rstrip(".")
        kind, what = "evicted", f"{worker} was evicted from node {get(pod, ('spec', 'nodeName'))}{': ' + said if said else ''}"
        evidence = [f"Pod {called}: Evicted: {said}"]
    elif get(pod, ("status", "reason")) == LATE:
        kind = "deadline"
        what = f"{worker} was not done after its pod's activeDeadlineSeconds of {get(pod, ('spec', 'activeDeadlineSeconds'))}"
        evidence = [f"Pod {called}: {LATE}: {get(pod, ('status', 'message'))}"]
        found = (rule, line) if (rule := _deadline(run)) else found
    elif disrupted:
        said = str(disrupted.get("message", "")).strip().rstrip(".")
        kind, what = "disrupted", f"{worker} was stopped by the cluster ({disrupted.get('reason')}: {said})"
    elif reason in ("StartError", "ContainerCannotRun") or code in (126, 127):
        said = str((end or {}).get("message") or "").strip()
        exec_ = re.search(r'exec: "[^"]*": [^:]*', said)
        kind, what = "cannot-start", f"the command of {worker} cannot be run: {exec_[0] if exec_ else said or line or f'status {code}'}"
        evidence = [f"Pod {called}: {reason}: {said}"] if said else evidence
    elif code == 2 and line:
        kind, what = "bad-value", f"{worker} was started with a value that cannot work: {line}"
    elif code == 81:
        kind, what = "no-agreement", f"the workers did not agree on who they are; {worker} said: {line}"
        waited = re.search(r"\d+ of (\d+) workers, waiting for index", line)
        found = (_COUNT, line) if waited and int(waited[1]) > run.workers else found
        if not found and re.search(NOT_IN_DNS, line) and (rule := nameless(run)):
            found = (rule, line)
    elif code > 128 or code == 82:
        kind, what = "stopped", f"{worker} was ended by {_signal(code)}{f'; its last line: {line}' if line else ''}"
    elif end is None:
        said = str(get(pod, ("status", "message")) or get(pod, ("status", "reason")) or "it does not say why").strip().rstrip(".")
        kind, what = "disrupted", f"{worker} failed: {said}"
    else:
        kind, what = "crashed", f"{worker} ended with status {code}{f': {line}' if line else ', and wrote nothing'}"
    return Death(kind=kind, pod=called, what=what.rstrip("."), line=line, evidence=tuple(evidence), rule=found[0] if found else None)


def nameless(run: Snapshot) -> str | None:
    """The rule that says why the workers do not find one another's names, as far as the JobSet is to blame."""
    if any(get(pod, ("spec", "dnsPolicy")) == "Default" for pod in run.pods):
        return "jobset/worker-names"
    network = get(run.jobset, ("spec", "network"), {}) or {}
    if network.get("enableDNSHostnames") is False:
        return "jobset/dns-hostnames"
    return "jobset/publish-not-ready-addresses" if network.get("publishNotReadyAddresses") is False else None


def deleted(run: Snapshot) -> list[str]:
    """The pods of the run that were deleted from outside: killed, gone, and not by their Job."""
    by_job = {str(each.get("message")).removeprefix("Deleted pod: ") for each in run.events(None, "SuccessfulDelete")}
    killed = dict.fromkeys(str(get(each, ("involvedObject", "name"))) for each in run.events(None, "Killing"))
    return [each for each in killed if each not in by_job and not run.one("Pod", each)]


def _signal(code: int) -> str:
    if code == 82:
        return "SIGTERM, with everything saved (status 82)"
    try:
        return f"{signal.Signals(code - 128).name} (status {code})"
    except ValueError:
        return f"status {code}"


def _limit(pod: Manifest, container: str) -> str:
    containers = get(pod, ("spec", "containers"), []) or []
    return str(next((get(each, ("resources", "limits", "memory"), "") for each in containers if each.get("name") == container), "") or "")


def lines(text: str) -> list[str]:
    """The lines of a log without the times before them, empty ones left out."""
    return [words for each in text.splitlines() if (words := re.sub(r"^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d) ?", "", each).rstrip())]


def last_line(text: str) -> str:
    """The line that says most of how a log ends: the last error of tfrun or of Python, else the last line; at most 300 characters."""
    found: list[str] = []
    for each in lines(text):
        if each.startswith("tfrun: starting worker"):
            found = []  # what stands before says nothing about the training
        elif not each.startswith("unable to retrieve container logs"):
            found.append(each)
    errors = [each for each in found if re.match(r"(tfrun|train): error:|([A-Za-z_][\w.]*(Error|Exception|Interrupt)|SystemExit)\b", each)]
    said = (
        (errors or found or [""])[-1]
        .strip()
        .removeprefix("tfrun: ")
        .removeprefix("train: ")
        .removeprefix("error: ")
        .partition(" Look at those pods: ")[0]
    )
    return said if len(said) <= 300 else said[:299] + "…"


def tfrun_line(text: str) -> str:
    """The last line of tfrun's own, without its name."""
    return next((each.removeprefix("tfrun: ") for each in reversed(lines(text)) if each.startswith("tfrun: ")), "")


def _by_symptom(run: Snapshot, logs: list[str]) -> tuple[str, str] | None:
    """The rule one of whose symptoms stands in these logs, and the line."""
    alone = any(int(get(job, ("spec", "backoffLimit"), 0) or 0) for job in run.jobs)
    for each in (line for log in logs for line in reversed(lines(log))):
        for rule in rules.rules().values():
            if rule.id == _LONE and not alone:
                continue
            for symptom in rule.symptoms:
                if re.search(".*".join(re.escape(part.strip()) for part in symptom.split("…") if part.strip()), each):
                    return rule.id, each if len(each) <= 300 else each[:299] + "…"
    return None
