"""The training: workers that look for one another, that are silent, that train."""

from __future__ import annotations

import re
from datetime import datetime

from gate.model import Manifest, get
from gate.why.causes import Cause, Seen, cause
from gate.why.death import NOT_IN_DNS, last_line, nameless, tfrun_line
from gate.why.jobset import attempts
from gate.why.snapshot import ANCESTOR, Snapshot, condition, index, moment_of, name, phase
from gate.why.trainer import progress

_PATIENCE = 60  # seconds that the workers may take to find one another
_SILENCE = 1800  # seconds without a line and without progress that are no longer normal


def _running(run: Snapshot) -> list[Manifest]:
    return [pod for pod in run.pods if phase(pod) == "Running"]


def _gathering(run: Snapshot) -> dict[int, list[str]]:
    """What tfrun said last, newest first, in each worker that has not been told to start: by index."""
    found = {}
    for pod in _running(run):
        text = "\n".join(log.text for log in run.log(pod, previous=False))
        own = [each.removeprefix("tfrun: ") for each in _tfrun_lines(text)]
        if own and not any(each.startswith("starting worker") for each in own) and "training alone" not in own[-1]:
            found[index(pod)] = own[::-1]
    return found


def _tfrun_lines(text: str) -> list[str]:
    return re.findall(r"^(?:\S+Z )?(tfrun: .*)$", text, flags=re.MULTILINE)


def _evidence(run: Snapshot, worker: int, line: str) -> tuple[str, ...]:
    pod = next(pod for pod in run.pods if index(pod) == worker)
    return (f"log of {name(pod)}: tfrun: {line}",)


@cause("training/ancestor-label", "stuck", rule="trainer/ancestor-label")
def ancestor_label(run: Snapshot) -> Seen | None:
    """Trainer has not found the Job to fill in: numNodes, image, command and env of the TrainJob are ignored"""
    given = get(run.root, ("spec", "trainer")) or {}
    jobs = get(run.jobset, ("spec", "replicatedJobs"), []) or []
    if not jobs or not given or any(get(job, ("template", "metadata", "labels", ANCESTOR)) for job in jobs):
        return None
    said = ", ".join(sorted(given))
    return Seen(
        sentence=f"No Job of the {run.runtime_kind} {run.runtime_name} bears the label that Trainer looks for, so {said} of the "
        f"TrainJob are "
        f"ignored: {len(run.pods)} pod(s) instead of {given.get('numNodes', '?')} run what the runtime says.",
    )


@cause("training/worker-count", "stuck", rule="trainer/worker-count")
def worker_count(run: Snapshot) -> Seen | None:
    """The workers wait for more than the run has"""
    for worker, said in _gathering(run).items():
        match = next((found for line in said if (found := re.match(r"(\d+) of (\d+) workers, waiting for index (.*)", line))), None)
        if match and int(match[2]) > run.workers:
            wanted = f"Its workers wait for {match[2]} workers (TF_NUM_WORKERS), but"
            narrow = [job for job in run.jobs if int(get(job, ("spec", "completions")) or 0) > int(get(job, ("spec", "parallelism")) or 0)]
            return Seen(
                sentence=f"{wanted} its Job {name(narrow[0])} runs {get(narrow[0], ('spec', 'parallelism'))} of "
                f"{get(narrow[0], ('spec', 'completions'))} pods at a time: index {match[3]} comes when another is done."
                if narrow
                else f"{wanted} the run has {run.workers} pods: index {match[3]} will never come.",
                evidence=_evidence(run, worker, match[0]),
                rule="jobset/workers-at-once" if narrow else None,
            )
    return None


@cause(
    "training/not-answering",
    "stuck",
    todo="Look whether tfrun runs in the pod of worker 0 (its log), and which NetworkPolicy closes TFRUN_PORT (TF_WORKER_PORT + 1) "
    "between the "
    "pods of the run: kubectl get networkpolicies -n {namespace}.",
)
def not_answering(run: Snapshot) -> Seen | None:
    """A worker knows the address of worker 0, but worker 0 does not answer"""
    for worker, said in _gathering(run).items():
        line = next((each for each in said[:6] if "does not answer" in each), None)
        if not line or not _late(run):
            continue
        policies = [name(each) for each in run.all("NetworkPolicy")]
        first = next((pod for pod in run.pods if index(pod) == 0), None)
        silent = first is not None and not any(tfrun_line(log.text) for log in run.log(first, previous=False))
        why = "tfrun has written nothing there" if silent else f"policies of the namespace: {', '.join(policies)}" if policies else ""
        return Seen(
            sentence=f"Worker {worker} finds worker 0 in DNS, but gets no answer from it{'; ' + why if why else ''}.",
            evidence=_evidence(run, worker, line),
        )
    return None


def _late(run: Snapshot) -> bool:
    """Whether all workers have had time to find one another."""
    started = [each for pod in _running(run) if (each := get(pod, ("status", "startTime")))]
    return bool(started) and run.older(max(started), _PATIENCE)


@cause(
    "training/not-in-dns",
    "stuck",
    todo="Look at DNS: kubectl exec into a pod and run python3 tfrun.py doctor; kubectl get endpointslices -n {namespace}; CoreDNS's "
    "pods and "
    "log. A NetworkPolicy may close port 53.",
)
def not_in_dns(run: Snapshot) -> Seen | None:
    """A worker's name does not resolve"""
    for worker, said in _gathering(run).items():
        line = next((each for each in said[:2] if re.search(NOT_IN_DNS, each)), None)
        if not line or not _late(run):
            continue
        rule = nameless(run)
        why = {
            "jobset/worker-names": ": its pods have dnsPolicy Default and ask their node's DNS, which knows no pod",
            "jobset/dns-hostnames": ": its JobSet has enableDNSHostnames: false, so no worker has a name",
            "jobset/publish-not-ready-addresses": ": its JobSet has publishNotReadyAddresses: false, so no worker is in DNS before it is "
            "ready, and none gets ready alone",
        }.get(rule or "", ", though its JobSet publishes the addresses of pods that are not ready")
        return Seen(
            sentence=f"Worker {worker} does not find the others in DNS{why}.",
            evidence=_evidence(run, worker, line),
            rule=rule,
        )
    return None


@cause(
    "training/gathering",
    "waiting",
    todo="Wait: who is missing by TF_DISCOVERY_TIMEOUT ends the attempt. If it lasts, look at the pod of the missing index.",
)
def gathering(run: Snapshot) -> Seen | None:
    """The workers are looking for one another"""
    found = _gathering(run)
    if not found:
        return None
    worker = min(found)
    mute = [pod for pod in _running(run) if (logs := run.log(pod, previous=False)) and not any(tfrun_line(log.text) for log in logs)]
    silent = f" In worker {index(mute[0])} tfrun has written nothing: does it run there?" if mute else ""
    return Seen(
        sentence=f"{len(found)} of its {run.workers} workers {'has' if len(found) == 1 else 'have'} not been told to start; "
        f"worker {worker} says: {found[worker][0].rstrip('.?')}.{silent}",
        evidence=_evidence(run, worker, found[worker][0]),
    )


def _last_sign(run: Snapshot) -> tuple[datetime, str]:
    """When anything was last heard of the training, and what."""
    signs = []
    for log in run.logs:
        written = [each for each in log.text.splitlines() if re.match(r"\d{4}-\d\d-\d\dT", each)]
        if written:
            signs.append((moment_of(written[-1].split(" ", 1)[0][:19] + "+00:00"), f"log of {log.pod}: {last_line(log.text)}"))
    reported = get(run.root, ("status", "trainerStatus", "lastUpdatedTime"))
    if reported:
        signs.append((moment_of(reported), f"status.trainerStatus: {progress(run)}"))
    return max(signs, default=(moment_of(None), ""))


@cause(
    "training/silent",
    "stuck",
    todo="Look what the workers do: kubectl exec -n {namespace} into a pod, py-spy dump --pid 1 (or kill -USR1, if the script registers "
    "faulthandler). A worker that waits in a collective alone is what script/chief-only-collective and script/explicit-steps are about. "
    "Deleting one pod restarts the gang from its checkpoint.",
)
def silent(run: Snapshot) -> Seen | None:
    """All its pods run, and nothing was heard of the training for long"""
    running = _running(run)
    if len(running) < run.workers:
        return None
    last, sign = _last_sign(run)
    if not sign or not run.older(last.isoformat(), _SILENCE):
        return None
    return Seen(
        sentence=f"All its {run.workers} pods run, but nothing was heard of the training for {run.age(last)}: it may hang.",
        evidence=(sign,),
    )


@cause("training/runs", "fine")
def runs(run: Snapshot) -> Seen | None:
    """It trains"""
    running = _running(run)
    if not running:
        return None
    done = sum(phase(pod) == "Succeeded" for pod in run.pods)
    far = progress(run)
    last, sign = _last_sign(run)
    since = max((str(get(pod, ("status", "startTime"), "")) for pod in running), default="")
    again = attempts(run)
    partly = f", {done} are done" if done else ""
    heard = (
        f"; last sign of it {run.age(last)} ago" if sign else "; its log has no line yet" if run.logs else "; its logs could not be read"
    )
    return Seen(
        sentence=f"It trains: {len(running)} of its {run.workers} pods have run for {run.age(since)}{partly}"
        f"{f', at {far}' if far else ''}{f' ({again})' if again else ''}{heard}.",
        evidence=(sign,) if sign else (),
    )


@cause("training/ending", "waiting", todo="Ask again in a minute.")
def ending(run: Snapshot) -> Seen | None:
    """All its pods have succeeded, and Trainer has not said Complete yet"""
    if not run.pods or any(phase(pod) != "Succeeded" for pod in run.pods) or condition(run.root, "Complete"):
        return None
    return Seen(sentence=f"Its {len(run.pods)} pods have succeeded; the TrainJob is not Complete yet.")


BEFORE: tuple[Cause, ...] = (ancestor_label, worker_count)
CAUSES: tuple[Cause, ...] = (not_answering, not_in_dns, gathering, silent)
END: tuple[Cause, ...] = (runs, ending)
