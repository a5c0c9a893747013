"""The command line: parses, calls the engine, prints."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.console import Console
from rich.table import Table

from gate.model import GateError
from lab import binaries, doctor, elsewhere, gitops, images, space, system
from lab import up as engine
from lab import watch as watching
from lab.model import Cluster, Lab, LabError, lab
from lab.tour import guide
from lab.tour.steps import STEPS

_FOLDER = click.Path(file_okay=False, path_type=Path)
_STEPS = [each.name for each in STEPS]
_KINDS = "nodes,deployments,clusterqueues.kueue.x-k8s.io,queues.scheduling.volcano.sh,trainjobs"


class _Main(click.Group):
    """Reports every fault in one place with status 1, wherever it is raised."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except GateError as error:
            click.echo(f"lab: {error}", err=True)
            raise SystemExit(1) from error


class _Verbatim(click.Command):
    """Passes on every word, `--` and `--help` too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.params["words"] = tuple(args)
        return []


def _kubeconfig(words: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    file = click.Path(exists=True, dir_okay=False, path_type=Path)
    return click.option("--kubeconfig", metavar="FILE", type=file, help=words)


@click.group(cls=_Main, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
def main() -> None:
    """A real one-node Kubernetes with Trainer, JobSet, Kueue, Volcano and Argo CD on this machine, apart from everything else on it."""


@main.command("doctor")
@click.option("--packages", is_flag=True, help="Only the names of the Debian packages that are missing.")
@_kubeconfig("Say instead what `lab up` would install into the cluster of FILE.")
def doctor_(packages: bool, kubeconfig: Path | None) -> None:
    """Say what this machine lacks for the lab, and change nothing."""
    if packages:
        click.echo(" ".join(doctor.packages()))
        return
    if kubeconfig:
        click.echo("\n".join(elsewhere.plan(elsewhere.elsewhere(kubeconfig), Console(stderr=True)).lines))
        return
    faults = doctor.faults()
    for fault in faults:
        click.echo(f"✗ {fault}")
    if not faults:
        click.echo("✓ this machine can hold the lab")
    if missing := binaries.missing():
        click.echo(f"· still to build, once: {', '.join(missing)}")
    raise SystemExit(1 if faults else 0)


@main.command()
def build() -> None:
    """Build the programs that are missing: half an hour on two cores, once for each version."""
    binaries.build(Console(stderr=True))


@main.command()
@click.option("--no-push", is_flag=True, help="Apply the cluster's folders; push nothing, start no run.")
@_kubeconfig("Install into the cluster of FILE instead.")
def up(no_push: bool, kubeconfig: Path | None) -> None:
    """Start the lab, push the current branch, and have Argo CD deploy it; on top of a running lab, what is missing.

    With --kubeconfig nothing starts on this machine and nothing is pushed. The same versions of JobSet, Kueue, Volcano and
    Trainer are installed from their public images into the cluster that FILE's current context names, and the namespaces,
    queues and runtimes of clusters/lab. What exists there and was not installed from here is not touched, or is a reason to
    refuse. The claim for checkpoints is left to you: the lab's is a folder of its node. `lab doctor --kubeconfig FILE` says
    beforehand what would be done.
    """
    if kubeconfig:
        elsewhere.up(elsewhere.elsewhere(kubeconfig), Console(stderr=True))
        return
    mine = lab()
    engine.up(mine, Console(stderr=True), push=not no_push)
    click.echo(f"export KUBECONFIG={mine.kubeconfig}")


@main.command()
@_kubeconfig("Refused: nothing is removed from a cluster that is not the lab.")
def down(kubeconfig: Path | None) -> None:
    """End the lab: no process, mount, link, rule or cgroup stays. Images do, for the next time."""
    if kubeconfig:
        elsewhere.down()
    click.echo("the lab is down" if engine.down(lab()) else "no lab was running", err=True)


@main.command()
def push() -> None:
    """Push the current branch to the lab's Git remote, and have Argo CD look at it now."""
    mine = _running()
    if left := gitops.uncommitted(mine.root):
        click.echo(f"not committed and not pushed: {', '.join(left)}", err=True)
    commit = gitops.push(mine, mine.root)
    gitops.refresh(mine)
    click.echo(f"pushed {commit[:12]}; `lab watch` shows what comes of it")


@main.command()
@click.option("--until-done", is_flag=True, help="End when what was pushed is deployed and every run is over: 1 if one failed.")
def watch(until_done: bool) -> None:
    """Show applications, queues and runs with their progress as they move, until Ctrl-C."""
    mine = _running()
    with contextlib.suppress(KeyboardInterrupt):
        raise SystemExit(0 if watching.watch(mine, Console(), until_done=until_done) else 1)


@main.command()
@_kubeconfig("Show the cluster of FILE instead.")
def status(kubeconfig: Path | None) -> None:
    """Show what runs, and the kubeconfig."""
    if kubeconfig:
        _exec(elsewhere.elsewhere(kubeconfig), "get", _KINDS, "--all-namespaces")  # Argo CD is not installed there
    mine = _running()
    table = Table("", "state", "", box=None)
    for each in engine.processes(mine):
        table.add_row(each["name"], each["statename"].lower(), each["description"])
    Console().print(table)
    Console().print(f"KUBECONFIG={mine.kubeconfig}", highlight=False, soft_wrap=True)
    _exec(mine, "get", f"applications.argoproj.io,{_KINDS}", "--all-namespaces")


@main.command(cls=_Verbatim)
def kubectl(words: tuple[str, ...]) -> None:
    """Run kubectl against the lab."""
    _exec(_running(), *words)


@main.command()
@click.argument("component")
@click.option("-f", "--follow", is_flag=True, help="Go on with what comes.")
@click.option("-n", "--lines", default=100, show_default=True, help="How much of the end.")
@_kubeconfig("Show jobset, kueue, volcano or trainer of the cluster of FILE.")
def logs(component: str, follow: bool, lines: int, kubeconfig: Path | None) -> None:
    """Show the log of COMPONENT: a program of the node or control plane, or jobset, kueue, volcano, argocd, trainer."""
    mine = lab()
    cluster: Cluster = elsewhere.elsewhere(kubeconfig) if kubeconfig else mine
    project = next((each for each in system.PROJECTS if each.name == component), None)
    options = [f"--tail={lines}", *(["--follow"] if follow else [])]
    if project:
        for each in system.workloads(system.render(cluster, project)):
            meta = each["metadata"]
            words = ["logs", f"{each['kind'].lower()}/{meta['name']}", f"--namespace={meta['namespace']}", "--prefix", *options]
            subprocess.run(system.command(cluster, *words), check=False)
        return
    file = mine.log(component)
    if kubeconfig or not file.is_file():
        known = sorted({path.stem for path in file.parent.glob("*.log") if not kubeconfig} | {each.name for each in system.PROJECTS})
        raise LabError(f"no component {component}; there are {', '.join(known)}")
    os.execvp("tail", ["tail", f"--lines={lines}", *(["--follow=name"] if follow else []), str(file)])  # noqa: S606, S607


@main.group()
def tour() -> None:
    """Be led through what lies below Trainer, on a real cluster."""


@tour.command("jobset")
@click.option("--step", metavar="STEP", type=click.Choice(_STEPS), help=f"Only this one, and what it needs: {', '.join(_STEPS)}.")
@click.option("--output", metavar="DIR", default="jobset-tour", show_default=True, type=_FOLDER, help="Where the files are.")
@click.option("--check", is_flag=True, help="Do nothing: say what your own cluster state and files of each step lack.")
@click.option("--keep", is_flag=True, help="Leave what the tour made in the cluster.")
@_kubeconfig("Go through the cluster of FILE instead of the lab.")
def tour_jobset(step: str | None, output: Path, check: bool, keep: bool, kubeconfig: Path | None) -> None:
    """JobSet and Kueue in eight steps, the two usual mistakes, and the same as TrainJobs.

    Each step says what is to be seen and why, does it, verifies it from the cluster and leaves its file. On a terminal it waits for
    you before each. Everything happens in the namespace ml, and goes at the end. With --check it verifies what you did yourself, with
    the manifests of clusters/lab/tour/jobset as a pattern.

    \b
    Exit status: 0 every step is as it shall be; 1 one is not.
    """
    cluster: Cluster = elsewhere.elsewhere(kubeconfig) if kubeconfig else _running()
    console = Console()
    chosen = [each for each in STEPS if step in (None, each.name)]
    if check:
        raise SystemExit(0 if guide.checked(cluster, output, console, chosen) else 1)
    if not kubeconfig:
        images.bring(_running(), console, [images.busybox(guide.IMAGE)])
    leader = guide.Guide(cluster, output, console, pause=console.is_terminal and sys.stdin.isatty())
    with contextlib.suppress(KeyboardInterrupt):
        leader.go(chosen, keep=keep)
        return
    raise SystemExit(130)


def _running() -> Lab:
    mine = lab()
    if not space.first_process(mine) or not mine.kubeconfig.exists():
        raise LabError("the lab is not running: `lab up`")
    return mine


def _exec(cluster: Cluster, *words: str) -> NoReturn:
    command = system.command(cluster, *words)
    os.execv(command[0], command)  # noqa: S606


if __name__ == "__main__":
    main()
