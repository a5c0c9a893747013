"""Leads through the steps: does each for real, waits for what it shows, writes its file, and cleans up."""

from __future__ import annotations

import dataclasses
import json
import shlex
import tempfile
import textwrap
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from gate import check
from gate.model import GateError
from gate.reports import clean
from gate.reports import text as findings
from gate.why import collect, diagnose, report
from gate.why.cluster import Cluster as Reader
from gate.why.cluster import connect
from gate.why.snapshot import label, name
from lab import system
from lab.model import HERE, ROOT, Cluster, LabError
from lab.tour.look import GPU, JOBSET, NAMESPACE, Look, free_gpus, running
from lab.tour.steps import EIGHT, STEPS, Step
from lab.wait import until

FOLDER = HERE / "tour" / "jobset"
IMAGE = "docker.io/library/busybox:1.36"  # of the manifests
_MARK = "training.gitops/tour"
_NEEDED = 4  # GPUs: the quota of three, and one that a mistake takes past it
_SECONDS = 300.0  # that a cluster is given for one thing; images may have to be fetched
_SHARED = ("clusterqueues.kueue.x-k8s.io", "resourceflavors.kueue.x-k8s.io", "queues.scheduling.volcano.sh")
_PROJECTS = {"jobset.x-k8s.io": "JobSet", "kueue.x-k8s.io": "Kueue"}  # by API group: what every step needs


class Guide:
    """One tour: the cluster, where its files go, and what it says. `pause` waits for a person before each step."""

    def __init__(self, cluster: Cluster, output: Path, console: Console, *, pause: bool = False) -> None:
        self.cluster, self.output, self.console, self._pause = cluster, output, console, pause
        self._reader = connect(cluster.kubeconfig)
        self._words = "" if cluster.own else f" --kubeconfig {cluster.kubeconfig}"

    # --- what steps do ---

    def look(self) -> Look:
        return Look(self._reader)

    def manifest(self, file: str) -> str:
        return (FOLDER / file).read_text(encoding="utf-8")

    def apply(self, file: str) -> None:
        """Applies a file of the tour's folder."""
        self.run(
            "apply",
            "--server-side",
            f"--field-manager={system.MANAGER}",
            f"--filename={FOLDER / file}",
            shown=f"apply --server-side -f {_shown(file)}",
        )

    def run(self, *words: str, shown: str = "") -> str:
        """Has kubectl do something in the tour's namespace, and says so."""
        self.console.print(Text(f"  $ kubectl -n {NAMESPACE} {shown or shlex.join(words)}", style="cyan"), soft_wrap=True)
        return self.kubectl(*words)

    def kubectl(self, *words: str, timeout: float = 120) -> str:
        return system.kubectl(self.cluster, f"--namespace={NAMESPACE}", *words, timeout=timeout)

    def delete(self, kind: str, *names: str) -> None:
        """Deletes objects with all that belongs to them, and returns when they are gone. TrainJobs in the background: of one that is
        being deleted Trainer makes the JobSet again."""
        cascade = "background" if kind == "trainjob" else "foreground"
        words = ["delete", kind, *names, "--ignore-not-found", f"--cascade={cascade}", "--timeout=120s"]
        self.run(*words, shown=f"delete {kind} {' '.join(names)}")
        self.until(f"{' and '.join(names)} gone", lambda: _still(self.look(), names))

    def hold(self, jobset: str) -> None:
        """Takes a JobSet's quota from it for a while, as an administrator would: by its Workload."""
        self._activate(jobset, active=False)

    def release(self, jobset: str) -> None:
        """Gives it back what `hold` took."""
        self._activate(jobset, active=True)

    def _activate(self, called: str, *, active: bool) -> None:
        jobset = self.look().one("JobSet", called)
        workload = self.look().workload(jobset) if jobset else None
        if not workload:
            return
        words = ["patch", "workload", name(workload), "--type=merge", f"--patch={json.dumps({'spec': {'active': active}})}"]
        self.run(*words)
        wanted = 3 if active else 0

        def reason() -> str:
            pods = self.look().pods(called)
            there = running(pods) if active else len(pods)
            return "" if there == wanted else f"it has {there} pods"

        self.until(f"{called} {'runs again' if active else 'stopped, and its quota free'}", reason)

    def judge(self, file: str) -> None:
        """Shows what the gate says of a file of the tour, and goes on."""
        self.console.print(Text(f"  $ gate check {_shown(file)}", style="cyan"))
        facts = str(HERE / "cluster.yaml")
        setup, target = check.targets(ROOT, [FOLDER / "setup.yaml", FOLDER / file], facts)
        self._indented(findings.render(check.check(ROOT, [dataclasses.replace(target, beside=setup.units)])))

    def why(self, called: str) -> None:
        """Shows what `gate why` says of a run."""
        self.console.print(Text(f"  $ gate why {NAMESPACE}/{called}", style="cyan"))
        self._indented(explained(self._reader, called))

    def say(self, text: str) -> None:
        self.console.print(Text(f"  {text}"), soft_wrap=True)

    def until(self, what: str, reason: Callable[[], str]) -> None:
        """Returns once `reason` says nothing more. Raises LabError after the deadline."""
        until(self.console, f"  {what}", reason, seconds=_SECONDS, log=f"the events: kubectl -n {NAMESPACE} get events{self._words}")

    def _indented(self, text: str) -> None:
        for line in text.strip("\n").splitlines():
            self.console.print(Text(f"    {line}".rstrip()), soft_wrap=True)

    # --- the way through them ---

    def go(self, steps: Sequence[Step], *, keep: bool) -> None:
        """Does these steps and what they need, and removes what they made, whatever happens. Raises GateError."""
        wanted = _with_needs(steps)
        where = f"{_steps(wanted)} in the namespace {NAMESPACE} of {self._server()}"
        self.console.print(Text(f"The tour of JobSet and Kueue: {where}", style="bold"))
        self._fit(wanted)
        self.clean()
        times: list[tuple[Step, float]] = []
        try:
            self.apply("setup.yaml")
            self.output.mkdir(parents=True, exist_ok=True)
            for step in wanted:
                begun = time.monotonic()
                self._do(step)
                times.append((step, time.monotonic() - begun))
        finally:
            if keep:
                self.say(f"kept: the namespace {NAMESPACE} and its queue; the next `lab tour jobset` removes them")
            else:
                self.clean()
        self._summary(times)

    def _do(self, step: Step) -> None:
        numbered = f"Step {step.name} of {len(EIGHT)}" if step in EIGHT else "Besides"
        self.console.print(Text(f"\n{numbered}: {step.title()}", style="bold"))
        width = min(self.console.width, 110) if self.console.is_terminal else 110
        self.console.print("\n".join(textwrap.wrap(step.explanation(), width)), markup=False, highlight=False, soft_wrap=True)
        if self._pause:
            click.pause("  press any key …")
        try:
            step.start(self)
            self.until(f"step {step.name} as it shall be", lambda: "; ".join(step.state(self.look())))
            if step.writes:
                self._write(step)
        except GateError as error:
            said = "".join(f"\n  {line}" for called in step.about if (line := self._cause(called)))
            raise LabError(f"step {step.name} ({step.title()}): {error}{said}") from error
        for words in step.shows:
            self._indented(self.run(*words))
        step.tell(self)
        step.finish(self)

    def _write(self, step: Step) -> None:
        look = self.look()
        text = step.write(self, look)
        _whole(self.output / step.writes, text)
        if faults := list(step.written(text, self.look())):
            raise LabError("; ".join(faults))
        self.say(f"wrote {self.output / step.writes}")
        if not step.writes.endswith(".yaml"):
            self._indented(text)

    def _cause(self, called: str) -> str:
        """The likely cause of a failed step, for one of its JobSets or TrainJobs."""
        try:
            return explained(self._reader, called, short=True)
        except GateError as error:
            return str(error)

    def _fit(self, steps: Sequence[Step]) -> None:
        """Raises LabError where the cluster lacks what the steps need, before anything is made."""
        needed = dict(_PROJECTS)
        for step in steps:
            needed |= step.projects
        for group, project in needed.items():
            if not self._reader.knows(group):
                raise LabError(f"{self._server()} has no {project} (no API group {group}): `lab up{self._words}` installs it")
        self._own()
        if not any(step.queued for step in steps):
            return
        total, _, _ = free_gpus(self.look())
        if total < _NEEDED:
            raise LabError(
                f"the nodes of {self._server()} have {total} {GPU}, and the tour needs {_NEEDED}. Where there are none, numbers do for it: "
                f"kubectl patch node NODE --subresource=status --type=json "
                f"""-p '[{{"op": "add", "path": "/status/capacity/nvidia.com~1gpu", "value": "{_NEEDED}"}}]'"""
            )

        def taken() -> str:
            _, free, owners = free_gpus(self.look())
            return "" if free >= _NEEDED else f"{free} are free: {', '.join(owners)}"

        if not self.look().one("JobSet", "train"):
            self.until(f"{_NEEDED} free {GPU}", taken)

    def _own(self) -> None:
        """Raises LabError where something of the tour's names is there by another hand."""
        found = json.loads(system.kubectl(self.cluster, "get", "namespace", NAMESPACE, "--ignore-not-found", "--output=json") or "{}")
        others = [found] if found and not label(found, _MARK) else []
        for kind in self._shared():
            listed = json.loads(system.kubectl(self.cluster, "get", kind, "--output=json"))["items"]
            others += [each for each in listed if name(each) == NAMESPACE and not label(each, _MARK)]
        if others:
            raise LabError(
                f"there is a {others[0]['kind']} {NAMESPACE} that is not the tour's (no label {_MARK}); nothing was changed: "
                "the tour needs the name, in a cluster where it is free"
            )

    def _shared(self) -> list[str]:
        return [kind for kind in _SHARED if self._reader.knows(kind.partition(".")[2])]

    def clean(self) -> None:
        """Removes everything of the tour's, and returns when it is gone."""
        look = self.look()
        if not any(name(each) == NAMESPACE and label(each, _MARK) for each in look.all("Namespace")):
            self._remove_shared()
            return
        for kind in ("TrainJob", "JobSet"):
            names = [name(each) for each in self.look().all(kind)]
            if names:
                self.delete(kind.lower(), *names)
        self.run("delete", "namespace", NAMESPACE, "--timeout=180s", shown=f"delete namespace {NAMESPACE}")
        self._remove_shared()

    def _remove_shared(self) -> None:
        for kind in self._shared():
            self.kubectl("delete", kind, f"--selector={_MARK}", "--timeout=120s")

    def _server(self) -> str:
        return str(self._reader.api.configuration.host)

    def _summary(self, times: Sequence[tuple[Step, float]]) -> None:
        self.console.print()
        for step, seconds in times:
            file = str(self.output / step.writes) if step.writes else ""
            self.console.print(Text(f"✓ {step.title():<52} {seconds:>4.0f} s  {file}".rstrip()), soft_wrap=True)
        self.console.print(Text(f"{_steps(times)} in {sum(seconds for _, seconds in times):.0f} s", style="bold"))


def lacking(look: Look, output: Path) -> list[tuple[Step, list[str]]]:
    """What each of the eight steps lacks, of a learner's own cluster and files; nothing is changed."""
    found = []
    for step in EIGHT:
        faults = list(step.state(look))
        if step.writes:
            file = output / step.writes
            try:
                faults += list(step.written(file.read_text(encoding="utf-8"), look))
            except FileNotFoundError:
                faults.append(f"there is no file {file}")
            except (OSError, UnicodeDecodeError) as error:
                faults.append(f"{file} cannot be read: {error}")
        found.append((step, faults))
    return found


def checked(cluster: Cluster, output: Path, console: Console, steps: Sequence[Step]) -> bool:
    """Prints what each of the eight steps lacks, and says whether none lacks anything. Raises click's BadParameter for none of them."""
    if not set(steps) & set(EIGHT):
        eight = ", ".join(step.name for step in EIGHT)
        raise click.BadParameter(
            f"--check knows the eight steps only ({eight}): what is shown besides leaves nothing.", param_hint="--step"
        )
    found = [(step, faults) for step, faults in lacking(Look(connect(cluster.kubeconfig)), output) if step in steps]
    for step, faults in found:
        console.print(Text(f"{'✗' if faults else '✓'} {step.name}  {step.title()}", style="red" if faults else "green"))
        for fault in faults:
            console.print(Text(f"     {clean(fault)}"), soft_wrap=True)
    done = sum(not faults for _, faults in found)
    console.print(Text(f"{done} of {len(found)} steps are as they shall be", style="bold"))
    return done == len(found)


def explained(reader: Reader, called: str, *, short: bool = False) -> str:
    """What `gate why` says of a TrainJob or JobSet of the tour, whole or as one line."""
    run = collect.one(reader, NAMESPACE, called)
    found = diagnose(run)
    if not short:
        return report.as_text(run, found)
    return f"{called}: {clean(found.sentence)} {clean(' '.join(found.evidence[:1]))}".strip()


def _steps(them: Sequence[object]) -> str:
    return f"{len(them)} step{'' if len(them) == 1 else 's'}"


def _with_needs(steps: Sequence[Step]) -> list[Step]:
    """The steps with those that they need before them, in the order of the tour."""
    wanted = {step.name for step in steps}
    for step in reversed(STEPS):
        if step.name in wanted:
            wanted |= set(step.needs)
    return [step for step in STEPS if step.name in wanted]


def _still(look: Look, names: Sequence[str]) -> str:
    """What is still there of JobSets and TrainJobs."""
    there = [name(each) for kind in ("TrainJob", "JobSet") for each in look.all(kind) if name(each) in names]
    pods = [name(each) for each in look.all("Pod") if label(each, JOBSET) in names]
    return ", ".join([*there, *pods])


def _shown(file: str) -> str:
    path = FOLDER / file
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def _whole(path: Path, text: str) -> None:
    """Writes a file whole, or not at all."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}-", delete=False, encoding="utf-8") as file:
        file.write(text)
    made = Path(file.name)
    made.chmod(0o644)
    made.replace(path)
