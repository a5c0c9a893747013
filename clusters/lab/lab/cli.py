"""The command line: parses, calls the engine, prints."""

from __future__ import annotations

import contextlib
import os
import subprocess

import click
from rich.console import Console
from rich.table import Table

from gate.model import GateError
from lab import binaries, doctor, gitops, space, system
from lab import up as engine
from lab import watch as watching
from lab.model import Lab, LabError, lab


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


@click.group(cls=_Main, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
def main() -> None:
    """A real one-node Kubernetes with Trainer, JobSet, Kueue, Volcano and Argo CD on this machine, apart from everything else on it."""


@main.command("doctor")
def doctor_() -> None:
    """Say what this machine lacks for the lab, and change nothing."""
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
def up(no_push: bool) -> None:
    """Start the lab, push the current branch, and have Argo CD deploy it; on top of a running lab, what is missing."""
    mine = lab()
    engine.up(mine, Console(stderr=True), push=not no_push)
    click.echo(f"export KUBECONFIG={mine.kubeconfig}")


@main.command()
def down() -> None:
    """End the lab: no process, mount, link, rule or cgroup stays. Images do, for the next time."""
    click.echo("the lab is down" if engine.down(lab()) else "no lab was running", err=True)


@main.command()
def push() -> None:
    """Push the current branch to the lab's Git remote, and have Argo CD look at it now."""
    mine = lab()
    engine.processes(mine)
    if left := gitops.uncommitted(mine.root):
        click.echo(f"not committed and not pushed: {', '.join(left)}", err=True)
    commit = gitops.push(mine, mine.root)
    gitops.refresh(mine)
    click.echo(f"pushed {commit[:12]}; `lab watch` shows what comes of it")


@main.command()
@click.option("--until-done", is_flag=True, help="End when what was pushed is deployed and every run is over: 1 if one failed.")
def watch(until_done: bool) -> None:
    """Show applications, queues and runs with their progress as they move, until Ctrl-C."""
    mine = lab()
    engine.processes(mine)
    with contextlib.suppress(KeyboardInterrupt):
        raise SystemExit(0 if watching.watch(mine, Console(), until_done=until_done) else 1)


@main.command()
def status() -> None:
    """Show what runs, and the kubeconfig."""
    mine = lab()
    table = Table("", "state", "", box=None)
    for each in engine.processes(mine):
        table.add_row(each["name"], each["statename"].lower(), each["description"])
    Console().print(table)
    Console().print(f"KUBECONFIG={mine.kubeconfig}", highlight=False, soft_wrap=True)
    kinds = "nodes,deployments,applications.argoproj.io,clusterqueues.kueue.x-k8s.io,queues.scheduling.volcano.sh,trainjobs"
    _exec(mine, "get", kinds, "--all-namespaces")


@main.command(cls=_Verbatim)
def kubectl(words: tuple[str, ...]) -> None:
    """Run kubectl against the lab."""
    _exec(lab(), *words)


@main.command()
@click.argument("component")
@click.option("-f", "--follow", is_flag=True, help="Go on with what comes.")
@click.option("-n", "--lines", default=100, show_default=True, help="How much of the end.")
def logs(component: str, follow: bool, lines: int) -> None:
    """Show the log of COMPONENT: a program of the node or control plane, or jobset, kueue, volcano, argocd, trainer."""
    mine = lab()
    project = next((each for each in system.PROJECTS if each.name == component), None)
    options = [f"--tail={lines}", *(["--follow"] if follow else [])]
    if project:
        for each in system.workloads(system.render(mine, project)):
            meta = each["metadata"]
            words = ["logs", f"{each['kind'].lower()}/{meta['name']}", f"--namespace={meta['namespace']}", "--prefix", *options]
            subprocess.run(system.command(mine, *words), check=False)
        return
    file = mine.log(component)
    if not file.is_file():
        known = sorted({path.stem for path in file.parent.glob("*.log")} | {each.name for each in system.PROJECTS})
        raise LabError(f"no component {component}; there are {', '.join(known)}")
    os.execvp("tail", ["tail", f"--lines={lines}", *(["--follow=name"] if follow else []), str(file)])  # noqa: S606, S607


def _exec(mine: Lab, *words: str) -> None:
    if not space.first_process(mine) or not mine.kubeconfig.exists():
        raise LabError("the lab is not running: `lab up`")
    command = system.command(mine, *words)
    os.execv(command[0], command)  # noqa: S606


if __name__ == "__main__":
    main()
