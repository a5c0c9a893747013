"""The command line: parses, calls the engine, prints."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import signal
import sys
import tempfile
from pathlib import Path

import click
import yaml
from rich.console import Console

from gate import check as engine
from gate import history, new, render, reports, resolve, rules, schemas, tools
from gate.model import GateError, Outcome, Problem


class _Main(click.Group):
    """Reports every GateError in one line with status 2, wherever it is raised."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except GateError as error:
            _complain(Problem.of(error), Path.cwd())
            raise SystemExit(2) from error
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(2) from None
        except OSError as error:
            _complain(Problem(message=f"{error.strerror or error}: {error.filename or 'standard output'}"), Path.cwd())
            raise SystemExit(2) from error


def _complain(problem: Problem, root: Path) -> None:
    place = reports.shown(root, problem.file)
    place += f":{problem.line}" if problem.line else ""
    click.echo(f"gate: {reports.clean(place + ': ' if place else '')}{reports.clean(problem.message)}", err=True)


@click.group(cls=_Main, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
def main() -> None:
    """Refuses in review what would hang, split, bypass its quota or never be admitted on the cluster."""
    # a cancelled job ends as an interrupted one does: OPA is stopped, nothing stays behind
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    tools.setup()


@main.command()
@click.argument("targets", nargs=-1, metavar="[TARGET]...", type=click.Path(path_type=Path))
@click.option("--cluster", metavar="NAME|PATH", help="Judge by the facts of this cluster: a folder of clusters/ or a cluster.yaml.")
@click.option(
    "--format",
    "formats",
    type=click.Choice(reports.formats()),
    multiple=True,
    help="Format of the report (default: text). May be repeated, each with its --output; the last may do without one.",
)
@click.option(
    "--output",
    "outputs",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    metavar="FILE",
    help="Write the report there instead of printing it.",
)
@click.option("--against", metavar="REF", help="Refuse edits of runs that exist at this commit, branch or tag.")
@click.option("--changed", is_flag=True, help="With --against: only targets that the difference to REF can affect.")
def check(
    targets: tuple[Path, ...],
    cluster: str | None,
    formats: tuple[str, ...],
    outputs: tuple[Path, ...],
    against: str | None,
    changed: bool,
) -> None:
    """Check TARGETs: clusters, runs, overlays or other kustomizations, YAML files or folders; none: the whole repository.

    \b
    Exit status: 0 no error-level finding, 1 at least one, 2 something could not be checked (2 wins).
    """
    wanted = formats or ("text",)
    if not len(wanted) - 1 <= len(outputs) <= len(wanted):
        raise click.UsageError("each --format takes one --output, but for the last, which may be printed")
    root = engine.repository(Path.cwd() if not targets else _existing(targets[0]))
    console = Console(stderr=True)
    with console.status("checking") as status:
        try:
            outcome = _outcome(root, targets, cluster, against, changed, lambda what: status.update(what))
        except GateError as error:
            outcome = Outcome(root=root, checked=[], findings=[], problems=[Problem.of(error)], rules=0, cluster_rules=0, seconds=0)
    if wanted[-1] != "text" or len(outputs) == len(wanted):
        for problem in outcome.problems:
            _complain(problem, root)
    for format_, output in itertools.zip_longest(wanted, outputs):
        report = reports.render(format_, outcome)
        if output:
            _write(output, report)
        else:
            click.echo(report)
    raise SystemExit(outcome.status)


def _outcome(
    root: Path, paths: tuple[Path, ...], cluster: str | None, against: str | None, changed: bool, progress: engine.Progress
) -> Outcome:
    if changed and against is None:
        raise GateError("--changed: say with --against what has changed since")
    with history.at(root, against) if against is not None else contextlib.nullcontext() as before:
        targets = engine.targets(root, paths, cluster)
        wanted = engine.affected(root, targets, cluster, before) if changed and before else targets
        outcome = engine.check(root, wanted, progress, before=before)
        return dataclasses.replace(outcome, unaffected=len(targets) - len(wanted))


def _existing(path: Path) -> Path:
    absolute = path.absolute()
    return next((each for each in (absolute, *absolute.parents) if each.exists()), Path.cwd())


def _write(output: Path, report: str) -> None:
    """Whole or not at all; what is no regular file (a device, a pipe, a link) is written to and not replaced."""
    try:
        if output.is_symlink() or (output.exists() and not output.is_file()):
            output.write_text(report + "\n", encoding="utf-8")
            return
        with tempfile.TemporaryDirectory(dir=output.absolute().parent, prefix=".making-") as folder:
            made = Path(folder) / output.name
            made.write_text(report + "\n", encoding="utf-8")
            made.replace(output)
    except OSError as error:
        raise GateError(f"--output: cannot be written: {error.strerror}", file=output) from error


@main.command("render")
@click.argument("target", type=click.Path(path_type=Path))
def render_(target: Path) -> None:
    """Print the objects of TARGET as the check sees them."""
    for resource in _resources(target):
        click.echo("---\n" + yaml.safe_dump(resource.manifest, sort_keys=False, width=120), nl=False)


@main.command()
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--cluster", metavar="NAME|PATH", help="The cluster whose versions and runtimes count.")
def effective(target: Path, cluster: str | None) -> None:
    """Print the JobSet that Trainer will make of each TrainJob of TARGET."""
    root = engine.repository(_existing(target))
    (wanted,) = engine.targets(root, [target], cluster)
    if wanted.problem:
        raise wanted.problem.error()
    rendered = render.render_all((*wanted.units, *wanted.beside))
    resources = [resource for unit in (*wanted.units, *wanted.beside) for resource in rendered[unit].resources]
    catalog = wanted.facts.catalog if wanted.facts else schemas.catalog(())
    for problem in (problem for unit in wanted.units for problem in rendered[unit].problems):
        raise problem.error()
    mine = {id(resource) for unit in wanted.units for resource in rendered[unit].resources}
    if not any(resource.kind == "TrainJob" for resource in resources if id(resource) in mine):
        raise GateError("holds no TrainJob", file=target)
    for workload in resolve.resolve(resources, catalog):
        if id(resources[workload.object]) not in mine or workload.kind != "TrainJob":
            continue
        if workload.effective is None:
            raise GateError(f"{resources[workload.object]}: its runtime is not known here; give --cluster", file=target)
        metadata = {"name": workload.name, "namespace": workload.namespace, **workload.effective.value["metadata"]}
        jobset = {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "metadata": metadata,
            "spec": workload.effective.value["spec"],
        }
        click.echo("---\n" + yaml.safe_dump(jobset, sort_keys=False, width=120), nl=False)


def _resources(target: Path) -> list[engine.Resource]:
    units = render.units(target.absolute())
    rendered = render.render_all(units)
    for unit in units:
        for problem in rendered[unit].problems:
            raise problem.error()
        for fault in rendered[unit].faults:
            raise GateError(fault.message, file=fault.place.file if fault.place else None, line=fault.place.line if fault.place else None)
    return [resource for unit in units for resource in rendered[unit].resources]


@main.command()
@click.argument("trainjob", required=False, metavar="[[NAMESPACE/]TRAINJOB]")
@click.option(
    "--kubeconfig", type=click.Path(path_type=Path), metavar="FILE", help="Default: KUBECONFIG, ~/.kube/config, or the pod's own."
)
@click.option("--context", metavar="NAME", help="A context of the kubeconfig (default: the current one).")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Format of the answer.")
@click.option("--causes", is_flag=True, help="Print what is recognised, as the table of policies/README.md, and ask no cluster.")
def why(trainjob: str | None, kubeconfig: Path | None, context: str | None, format_: str, causes: bool) -> None:
    """Say why a live TRAINJOB does not train: what it waits for or died of, and what to do. Reads the cluster, changes nothing.

    Where there is no TrainJob of that name, the JobSet is meant. Without TRAINJOB, or with NAMESPACE/ alone: all TrainJobs that
    are not Complete.

    \b
    Exit status: 0 it trains, is complete or waits its turn; 1 it failed or somebody must act; 2 the cluster could not be asked.
    """
    from gate.why import collect, diagnose, report, table
    from gate.why.cluster import connect

    if causes:
        click.echo(table())
        return
    cluster = connect(kubeconfig, context)
    namespace, _, name = (trainjob or "").rpartition("/")
    runs = [collect.one(cluster, namespace or cluster.namespace, name)] if name else collect.unfinished(cluster, namespace or None)
    answers = [(run, diagnose(run)) for run in runs]
    if format_ == "json":
        click.echo(report.as_json(answers))
    else:
        click.echo(report.as_text(*answers[0]) if name else report.as_table(answers))
    raise SystemExit(max((found.status for _, found in answers), default=0))


@main.command("rules")
@click.option("--markdown", is_flag=True, help="As the table of policies/README.md.")
@click.option("--symptoms", is_flag=True, help="As the table of symptoms in README.md.")
@click.option("--pairs", is_flag=True, help="Instead, the table of clusters/README.md: which versions are tried together.")
@click.option("--seen", is_flag=True, help="Where the claim of each was seen, as the table of policies/README.md.")
def rules_(markdown: bool, symptoms: bool, pairs: bool, seen: bool) -> None:
    """List the rules: id, severity, what must hold."""
    for wanted, made in ((markdown, rules.table), (symptoms, rules.troubleshooting), (pairs, rules.pairs), (seen, rules.evidence)):
        if wanted:
            click.echo(made())
            return
    for rule in rules.rules().values():
        click.echo(f"{rule.id:<40} {rule.severity:<8} {rule.title}")


@main.command()
@click.argument("rule")
def explain(rule: str) -> None:
    """Explain RULE: why it is there, an example of the fault, what to write instead."""
    known = rules.rules()
    if rule not in known:
        close = [each for each in known if rule in each]
        raise GateError(f"there is no rule {rule}" + (f"; did you mean {', '.join(close)}?" if close else "; `gate rules` lists them"))
    click.echo(rules.explained(known[rule]))


@main.group("new")
def new_() -> None:
    """Make what belongs into the repository."""


@new_.command("run")
@click.argument("folder", type=click.Path(path_type=Path), metavar="clusters/CLUSTER/runs/RUN")
@click.option("--overlay", required=True, metavar="NAME", help="The overlay whose TrainJob the run starts from.")
@click.option("--namespace", metavar="NAME", help="Where the run lives (default: the overlay's namespace).")
@click.option("--nodes", type=click.IntRange(min=1), help="Number of nodes (default: the overlay's).")
@click.option("--env", "env", multiple=True, metavar="NAME=VALUE", help="Set a variable through trainer.env; may be repeated.")
@click.option(
    "--script", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Train with this script instead of training/'s."
)
def new_run(folder: Path, overlay: str, namespace: str | None, nodes: int | None, env: tuple[str, ...], script: Path | None) -> None:
    """Make a frozen, self-contained run: a TrainJob from an overlay, with the code that it is started with."""
    made = new.run(folder.absolute(), overlay, namespace=namespace, nodes=nodes, env=env, script=script)
    for path in made:
        click.echo(reports.shown(Path.cwd(), path))


@main.command()
def setup() -> None:
    """Build kustomize and OPA and read the schemas, once for each version, and do nothing else."""
