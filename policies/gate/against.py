"""What a change does to the repository as it was: runs that it edits, and targets that it can affect."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from gate import kustomization, locate, render, source
from gate.history import Before
from gate.model import Fault, FieldPath, GateError, Place, Resource, Rule, Unit, dotted

RULE = Rule(
    id="run/immutable",
    title="A run is never edited",
    description="The TrainJob of a run that was merged exists on its cluster, and Trainer refuses to change it: Argo CD would retry "
    "the sync for ever, or the run would train with code that its folder no longer shows. Told with --against: what a run renders "
    "to must be what it renders to there. A new run and a removed one are no edits, nor is a comment.",
    severity="error",
    fix="Put the run's folder back as it was (`git checkout REF -- FOLDER`) and make another run: `gate new run`.",
    example="# clusters/lab/runs/lr-sweep-1/trainjob.yaml, merged last week\n-    numNodes: 2\n+    numNodes: 4",
    symptoms=("Argo CD retries the sync of a TrainJob for ever",),
    seen=(
        "lab: tests/lab/test_claims.py::test_a_trainjob_does_not_change_nor_does_a_quantity_that_is_stored_otherwise",
        "lab: tests/lab/test_argocd.py::test_an_edited_run_goes_on_as_it_was",
        "source: trainer pkg/apis/trainer/v1alpha1/trainjob_types.go",
    ),
)
# What the gate judges by: a change there can affect every target.
_EVERYTHING = ("policies", "requirements.lock")


def edits(root: Path, before: Before, units: Sequence[Unit]) -> Iterator[Fault]:
    """Faults for what units hold of runs that exist and are edited.

    Objects are compared by what they are called on their cluster, wherever in it they stand: a run that moves to another
    folder is the same run.
    """
    for cluster in sorted({cluster for unit in units if (cluster := _cluster_of(root, unit.path))}):
        there = before.folder / cluster.relative_to(root.resolve())
        changed = [unit for unit in units if unit.path.resolve().is_relative_to(cluster) and not _reads_the_same(root, before, unit)]
        if there.is_dir() and changed:
            yield from _edits(_Cluster(root, cluster, there, before), changed)


def _reads_the_same(root: Path, before: Before, unit: Unit) -> bool:
    try:
        then = Unit(path=before.folder / unit.path.resolve().relative_to(root.resolve()), kustomization=unit.kustomization)
        return state(root, read([unit])) == state(before.folder, read([then]))
    except (GateError, OSError, ValueError, TypeError, RuntimeError):
        return False  # what is wrong with it is told where it is rendered


class _Cluster:
    """A cluster's folder as it is and as it was: what was built from what is no longer the same, and what of it did not build."""

    def __init__(self, root: Path, folder: Path, there: Path, before: Before) -> None:
        self.folder = folder
        self.there = there
        self.ref = before.ref
        self.was: dict[tuple[str, str, str, str], Resource] = {}
        self.broken: dict[Path, str] = {}
        gone = [unit for unit in _units(there) if not _reads_the_same(root, before, self._now(unit))]
        for unit, rendered in render.render_all(gone).items():
            barred = [fault.message for fault in rendered.faults if not rendered.resources]
            for reason in [problem.message for problem in rendered.problems] + barred:
                self.broken[unit.path] = reason
            self.was |= {resource.identity: resource for resource in rendered.resources}

    def _now(self, unit: Unit) -> Unit:
        return Unit(path=self.folder / unit.path.relative_to(self.there), kustomization=unit.kustomization)

    def then(self, path: Path) -> Path:
        """Where a path of the cluster was."""
        return self.there / path.resolve().relative_to(self.folder)

    def is_new(self, file: Path) -> bool:
        """Whether a file of the cluster holds something else than it did."""
        resolved = file.resolve()
        return resolved.is_relative_to(self.folder) and state(self.folder, [resolved]) != state(self.there, [self.then(resolved)])

    def fix(self, unit: Unit) -> str:
        folder = Path("clusters", self.folder.name, unit.path.resolve().relative_to(self.folder))
        back = f"Put {folder} back as it is at {self.ref} (`git checkout {self.ref} -- {folder}`)"
        return f"{back} and make another run: `gate new run clusters/{self.folder.name}/runs/NEW`."


def _edits(cluster: _Cluster, units: Sequence[Unit]) -> Iterator[Fault]:
    for unit in units:
        run = _run_of(unit.path)
        rendered = render.render(unit)
        if reason := cluster.broken.get(cluster.then(unit.path)):
            message = f"cannot be compared with what it is at {cluster.ref}, where it does not build: {reason}"
            yield Fault(rule=RULE.id, message=message, resource=None, place=_file_of(unit.path), severity="warning")
            continue
        if rendered.problems:
            continue  # told as such
        for resource in rendered.resources:
            was = cluster.was.get(resource.identity)
            if was and _is_frozen(was):
                yield from _edited(cluster, resource, was)
            elif not was and run and cluster.then(run).is_dir():
                message = f"{resource} is new in a run that exists at {cluster.ref}"
                yield Fault(rule=RULE.id, message=message, resource=resource, fix=cluster.fix(unit))
        now = {resource.identity for resource in rendered.resources}
        for identity, was in cluster.was.items():
            if run and was.unit.path == cluster.then(unit.path) and identity not in now:
                message = f"the run exists at {cluster.ref} and loses {was}"
                yield Fault(rule=RULE.id, message=message, resource=None, place=_file_of(unit.path), fix=cluster.fix(unit))


def _edited(cluster: _Cluster, resource: Resource, was: Resource) -> Iterator[Fault]:
    paths = list(_differences(resource.manifest, was.manifest, ()))
    if paths:
        # names of fields only: their values may be secret
        shown = ", ".join(dotted(path) for path in paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
        message = f"{resource} exists at {cluster.ref} and is edited: {shown}"
        path, place = next((edit for edit in _places(resource, paths) if cluster.is_new(edit[1].file)), (paths[0], None))
        yield Fault(rule=RULE.id, message=message, resource=resource, path=path, place=place, fix=cluster.fix(resource.unit))


def _places(resource: Resource, paths: Sequence[FieldPath]) -> Iterator[tuple[FieldPath, Place]]:
    """Where fields are set: one that a replacement fills in follows another, which stands in the file that was edited."""
    for path in paths[:10]:
        yield path, locate.locate(Fault(rule=RULE.id, message="", resource=resource, path=path))


def _is_frozen(resource: Resource) -> bool:
    """Whether an object is a part of a run, or one that the API server lets nobody edit, wherever it stands."""
    return bool(_run_of(resource.unit.path)) or resource.kind == "TrainJob" or resource.manifest.get("immutable") is True


def _differences(now: Any, was: Any, path: FieldPath) -> Iterator[FieldPath]:
    """The paths at which two values differ, as deep as they can be told."""
    if isinstance(now, dict) and isinstance(was, dict):
        for key in sorted(now.keys() | was.keys()):
            if key in now and key in was:
                yield from _differences(now[key], was[key], (*path, key))
            else:
                yield (*path, key)
    elif isinstance(now, list) and isinstance(was, list) and len(now) == len(was):
        for index, (one, other) in enumerate(zip(now, was, strict=True)):
            yield from _differences(one, other, (*path, index))
    elif type(now) is not type(was) or now != was:
        yield path


def _units(folder: Path) -> tuple[Unit, ...]:
    try:
        return render.units(folder)
    except GateError:
        return ()  # a folder with nothing in it


def _cluster_of(root: Path, path: Path) -> Path | None:
    clusters = root.resolve() / "clusters"
    resolved = path.resolve()
    return next((folder for folder in (resolved, *resolved.parents) if folder.parent == clusters), None)


def _run_of(path: Path) -> Path | None:
    """The run that a unit is, or stands in."""
    return next((folder for folder in (path.resolve(), *path.resolve().parents) if render.is_run(folder)), None)


def _file_of(path: Path) -> Place:
    try:
        return Place(file=(kustomization.kustomization_file(path) if path.is_dir() else None) or path)
    except GateError:
        return Place(file=path)


def can_affect_everything(root: Path, before: Before) -> bool:
    """Whether what the gate itself judges by is another than it was."""
    now, was = ([file for name in _EVERYTHING for file in _below(folder / name)] for folder in (root, before.folder))
    return state(root, now) != state(before.folder, was)


def _below(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif path.is_dir():
        yield from (file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts)


def state(root: Path, files: Iterable[Path]) -> dict[str, str]:
    """A digest of what stands in files, by their path in the repository; "" where there is none."""
    found: dict[str, str] = {}
    for file in files:
        path = file.resolve()
        found[source.shown(root, path)] = _digest(path) if path.is_file() else ""
    return found


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read(units: Iterable[Unit]) -> Iterator[Path]:
    """Every file that the renders of units read. Raises GateError where a kustomization is broken."""
    for unit in units:
        if unit.kustomization:
            yield from (file for this in kustomization.walk(unit.path) for file in kustomization.read(this))
        else:
            yield unit.path
