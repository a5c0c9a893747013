"""A check: from what a person names to findings at the lines to edit.

render → validate → resolve → evaluate → locate, one evaluation a target.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from gate import (
    against,
    applications,
    commands,
    evaluate,
    facts,
    followed,
    kustomization,
    locate,
    render,
    resolve,
    rules,
    schemas,
    scripts,
    source,
    validate,
    waivers,
)
from gate.facts import Facts
from gate.history import Before
from gate.model import (
    SEVERITIES,
    Checked,
    Fault,
    FieldPath,
    Finding,
    GateError,
    Outcome,
    Place,
    Problem,
    Resource,
    Rule,
    Unit,
    Waived,
    Waiver,
    dotted,
    get,
)

Progress = Callable[[str], None]
_LONGEST, _LONGEST_WORD = 1000, 300  # characters of a message, and without a space
_Located = tuple[Fault, Place, tuple[str, ...]]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Something to check: its own units, and those of its cluster that it may refer to.

    `kind` is cluster, run, kustomization, file or script; `problem` says why it cannot be looked at, `problems` what of
    it cannot. Objects of the target that are in the cluster as well take their place if it `replaces` them, and are
    second owners otherwise.
    """

    name: str
    kind: str
    path: Path
    units: tuple[Unit, ...] = ()
    beside: tuple[Unit, ...] = ()
    facts: Facts | None = None
    problem: Problem | None = None
    replaces: bool = True
    problems: tuple[Problem, ...] = ()


def repository(start: Path) -> Path:
    """The nearest folder upwards that has clusters/, else the folder itself."""
    folder = start if start.is_dir() else start.parent
    return source.repository(folder) or folder


def targets(root: Path, paths: Sequence[Path], cluster: str | None) -> list[Target]:
    """The targets for the paths on the command line; for none: all clusters, overlays and training/."""
    if cluster == "":
        raise GateError("--cluster is empty: write the name of a cluster or the path of a cluster.yaml")
    given = _given_cluster(root, cluster) if cluster else None
    wanted = list(dict.fromkeys(each for path in paths for each in _expanded(path.absolute()))) if paths else _everything(root)
    return [_target(root, path, given) for path in wanted]


def _expanded(path: Path) -> list[Path]:
    """A repository stands for everything in it, a folder of clusters for each of them, a file that describes a folder for that."""
    described = path.name in kustomization.FILE_NAMES or (path.name == facts.FILE_NAME and path.parent.parent.name == "clusters")
    if described and path.is_file():
        return [path.parent]
    if not path.is_dir() or any((path / name).exists() for name in (*kustomization.FILE_NAMES, facts.FILE_NAME)):
        return [path]
    clusters = sorted(file.parent for file in path.glob(f"*/{facts.FILE_NAME}"))
    return clusters or (_known(path) if (path / "clusters").is_dir() else []) or [path]


def _known(root: Path) -> list[Path]:
    """The overlays and clusters of a repository, and training/."""
    found = [path for folder in ("overlays", "clusters") for path in sorted((root / folder).glob("*")) if path.is_dir()]
    return [*found, *(path for path in [root / "training"] if path.is_dir())]


def _everything(root: Path) -> list[Path]:
    found = _known(root)
    if not found:
        raise GateError("there are no clusters/, overlays/ or training/ here: name a target", file=root)
    return found


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Cluster:
    facts: Facts
    folder: Path | None


def _given_cluster(root: Path, cluster: str) -> _Cluster:
    """--cluster: a name in clusters/, or the path of a cluster.yaml (then only the target and `external` exist).

    A target outside of every repository may be judged by a cluster of the one that the command runs in.
    """
    for base in (root, repository(Path.cwd())):
        folder = base / "clusters" / cluster
        if "/" in cluster or not (folder / facts.FILE_NAME).is_file():
            continue
        return _Cluster(facts=facts.of(folder), folder=folder)
    path = Path(cluster).absolute()
    if path.is_dir():
        return _Cluster(facts=facts.of(path), folder=path)
    if not path.exists():
        known = ", ".join(sorted(each.parent.name for each in (root / "clusters").glob(f"*/{facts.FILE_NAME}"))) or "none"
        raise GateError(f"--cluster {cluster}: no such cluster in clusters/ (there are: {known}) and no such file")
    return _Cluster(facts=facts.load(path), folder=None)


def _target(root: Path, path: Path, given: _Cluster | None) -> Target:
    name = str(path)
    try:
        name = source.shown(root, path)
        if not path.exists():
            raise GateError("does not exist", file=path)
        if source.leads_out(path):
            raise GateError("is a link that leads out of the repository", file=path)
        if (path / facts.FILE_NAME).is_file() and given is None:
            return _cluster_target(name, path)
        own = _own_cluster(root, path) if given is None else given
        if path.suffix == ".py":
            return Target(name=name, kind="script", path=path, facts=own.facts if own else None)
        kind = "run" if given is None and own else "kustomization" if kustomization.kustomization_file(path) else "file"
        units = render.units(path)
        beside = _composed(own.folder) if own and own.folder else ()
        composed = {unit.path.resolve() for unit in beside}
        beside = tuple(unit for unit in beside if unit.path.resolve() not in {mine.path.resolve() for mine in units})
        owner = kind == "run" and {unit.path.resolve() for unit in units} <= composed
        return Target(name=name, kind=kind, path=path, units=units, beside=beside, facts=own.facts if own else None, replaces=not owner)
    except GateError as error:
        return Target(name=name, kind="target", path=path, problem=Problem.of(error))
    except (OSError, ValueError, RuntimeError) as error:  # a link to itself, a name that no file system takes
        reason = (str(error) or type(error).__name__).splitlines()[0]
        return Target(name=name, kind="target", path=path, problem=Problem(message=f"cannot be read: {reason}", file=path))


def _cluster_target(name: str, path: Path) -> Target:
    own = facts.of(path)
    units = _composed(path)
    return Target(name=name, kind="cluster", path=path, units=units, facts=own, problems=_stray(own, units))


def _stray(own: Facts, units: tuple[Unit, ...]) -> tuple[Problem, ...]:
    """Manifests of a cluster that no kustomization holds: they would be judged by nobody and deployed by nobody."""
    if not units[0].kustomization:
        return ()
    folder = own.file.parent
    by_hand = [folder / name for name in own.value.get("appliedByHand", ())]
    message = (
        "stands in no kustomization, so nobody deploys it: list it in one, remove it, or name its folder in cluster.yaml's appliedByHand"
    )
    stray = [unit.path for unit in render.units(folder) if not unit.kustomization]
    return tuple(Problem(message=message, file=path) for path in stray if not any(each in path.parents for each in by_hand))


def _composed(folder: Path) -> tuple[Unit, ...]:
    """What a cluster is composed of: every kustomization below it, or its plain files where it has none."""
    units = render.units(folder)
    return tuple(unit for unit in units if unit.kustomization) or units


def _own_cluster(root: Path, path: Path) -> _Cluster | None:
    """The cluster that a path below clusters/<name>/ belongs to."""
    clusters = (root / "clusters").resolve()
    resolved = path.resolve()
    if not resolved.is_relative_to(clusters) or resolved == clusters:
        return None
    folder = clusters / resolved.relative_to(clusters).parts[0]
    return _Cluster(facts=facts.of(folder), folder=folder) if (folder / facts.FILE_NAME).is_file() else None


def affected(root: Path, wanted: Sequence[Target], cluster: str | None, before: Before) -> list[Target]:
    """The targets that the difference to `before` can affect: those whose check reads other files than it read there.

    What the gate judges by affects every target; one of which it cannot be told is affected.
    """
    if against.can_affect_everything(root, before):
        return list(wanted)
    return [target for target in wanted if _is_affected(root, target, cluster, before)]


def _is_affected(root: Path, target: Target, cluster: str | None, before: Before) -> bool:
    path = target.path.resolve()
    if target.problem or target.problems or not path.is_relative_to(root.resolve()):
        return True
    try:
        (was,) = targets(before.folder, [before.folder / path.relative_to(root.resolve())], cluster)
        if was.problem or was.problems:
            return True
        return against.state(root, _read(root, target)) != against.state(before.folder, _read(before.folder, was))
    except (GateError, OSError, ValueError, TypeError, RuntimeError):
        return True


def _read(root: Path, target: Target) -> list[Path]:
    """Every file that the check of a target reads."""
    own = [target.path] if target.kind == "script" else []
    units = (*target.units, *target.beside)
    deployed = applications.units(root, [resource for unit in units for resource in render.render(unit).resources], target.facts)
    return [*own, *against.read((*units, *deployed)), *([target.facts.file] if target.facts else [])]


def check(
    root: Path,
    wanted: Sequence[Target],
    progress: Progress = lambda _: None,
    evaluator: evaluate.Evaluator | None = None,
    before: Before | None = None,
) -> Outcome:
    """Checks targets and gathers what was found; nothing that could be checked is left out for what could not.

    An `evaluator` that is given is used and left running, else one is started for this check. Where it is given what the
    repository was `before`, runs that exist there must not be edited.
    """
    started = time.monotonic()
    known = rules.rules()
    problems = [dataclasses.replace(target.problem, targets=(target.name,)) for target in wanted if target.problem]
    progress("rendering")
    rendered = render.render_all(unit for target in wanted for unit in (*target.units, *target.beside))
    located: list[_Located] = []
    checked: list[Checked] = []
    with contextlib.nullcontext(evaluator) if evaluator else evaluate.evaluator() as opa:
        for target in wanted:
            if target.problem:
                checked.append(Checked(name=target.name, kind=target.kind, resources=0, without_cluster=False, failed=True))
                continue
            progress(f"checking {target.name}")
            judged = _judge(root, target, rendered, opa)
            problems += [dataclasses.replace(problem, targets=(target.name,)) for problem in judged.problems]
            checked.append(judged.checked)
            edits = against.edits(root, before, target.units) if before else ()
            for fault in (*judged.faults, *edits):
                located.append((_with_others(root, fault), locate.locate(fault), _reached(root, target, fault)))
    held: list[Waiver] = []
    try:
        held = waivers.load(root, known)
    except GateError as error:
        problems.append(Problem.of(error))
    counted, waived = _sorted_out(root, located, held, known)
    about = waivers.expired(held)
    if not problems and _whole(root, wanted):
        about += waivers.unused(held, [each.waiver for each in waived])
    counted += [(fault, locate.locate(fault), (str(waivers.FILE),)) for fault in about]
    return Outcome(
        root=root,
        checked=checked,
        findings=_findings(counted, known),
        waived=waived,
        problems=_unique(problems),
        rules=len(known),
        cluster_rules=sum(rule.needs_cluster for rule in known.values()),
        seconds=time.monotonic() - started,
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    checked: Checked
    faults: list[Fault]
    problems: list[Problem]


def _judge(root: Path, target: Target, rendered: dict[Unit, render.Rendered], evaluator: evaluate.Evaluator) -> _Judged:
    if target.kind == "script":
        return _judge_script(target)
    mine = [resource for unit in target.units for resource in rendered[unit].resources]
    own = {resource.identity for resource in mine} if target.replaces else set()  # they take the place of what is there
    beside = [resource for unit in target.beside for resource in rendered[unit].resources if resource.identity not in own]
    faults = [fault for unit in target.units for fault in rendered[unit].faults]
    problems = [*target.problems, *(problem for unit in (*target.units, *target.beside) for problem in rendered[unit].problems)]
    try:
        catalog = target.facts.catalog if target.facts else schemas.catalog(())
        faults += [fault for unit in target.units for fault in followed.faults(unit, rendered[unit].resources, catalog)]
        validation = validate.validate(mine, catalog)
        context = validate.validate(beside, catalog)
        faults += validation.faults
        problems += validation.problems
        malformed = validation.malformed | context.malformed
        resources = [_stub(resource) if resource in malformed else resource for resource in (*mine, *beside)]
        workloads = resolve.resolve(resources, catalog)
        members = [True] * len(mine) + [False] * len(beside)
        deployed = applications.for_rules(root, resources, target.facts)
        faults += evaluator.evaluate(resources, members, workloads, target.facts, catalog, deployed)
        faults += _scripts(mine, workloads, problems)
    except GateError as error:
        problems.append(Problem.of(error))
    runs = tuple(sorted(unit.path.name for unit in target.units if target.kind == "cluster" and unit.path.parent.name == "runs"))
    checked = Checked(
        name=target.name, kind=target.kind, resources=len(mine), without_cluster=target.facts is None, failed=bool(problems), runs=runs
    )
    return _Judged(checked=checked, faults=faults, problems=problems)


def _stub(resource: Resource) -> Resource:
    """An object that holds values of a wrong type: only what it is and what it is called, so that rules can refer to it."""
    metadata = {key: str(value) for key, value in (("name", resource.name), ("namespace", resource.namespace)) if value}
    manifest = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
    return dataclasses.replace(resource, manifest=manifest)


def _judge_script(target: Target) -> _Judged:
    faults: list[Fault] = []
    problems: list[Problem] = []
    try:
        faults += scripts.judge(scripts.load(target.path))
    except GateError as error:
        problems.append(Problem.of(error))
    checked = Checked(name=target.name, kind=target.kind, resources=0, without_cluster=target.facts is None, failed=bool(problems))
    return _Judged(checked=checked, faults=faults, problems=problems)


def _scripts(resources: Sequence[Resource], workloads: Sequence[resolve.Workload], problems: list[Problem]) -> list[Fault]:
    """Faults of the Python files in ConfigMaps, and of what else of the manifests is started as Python."""
    containers = commands.Containers(resources, workloads)
    texts = [(resource, path, containers.image(resource)) for resource, path in _python_files(resources, problems)]
    faults: list[Fault] = []
    for resource, path, image in (*texts, *containers.texts()):
        # what comes out of the build is judged, and told where it was written: in a file of its own or in YAML
        file, lines = locate.text(resource, path)
        try:
            faults += scripts.judge(_script(resource, path, containers, image=image, file=file, lines=lines))
        except GateError as error:
            problems.append(Problem.of(error))
    return faults


def _script(
    resource: Resource, path: FieldPath, containers: commands.Containers, *, image: str, file: Path, lines: Sequence[int]
) -> scripts.Script:
    text = str(get(resource.manifest, path))
    if path[0] != "data":
        return scripts.parse(text, file, image=image, lines=lines)
    return scripts.parse(
        text,
        file,
        image=image,
        alone=containers.alone(resource, str(path[1])),
        lines=lines,
        beside={key: each for key, each in resource.manifest["data"].items() if isinstance(each, str)}.get,
        commands=containers.commands(resource),
    )


def _python_files(resources: Sequence[Resource], problems: list[Problem]) -> Iterator[tuple[Resource, FieldPath]]:
    """The *.py keys of ConfigMaps; one that is not UTF-8 is a problem."""
    for resource in resources:
        if resource.kind != "ConfigMap" or resource.group:
            continue
        binary, data = (resource.manifest.get(field) for field in ("binaryData", "data"))
        for key in binary if isinstance(binary, dict) else ():
            if key.endswith(".py"):
                place = locate.locate(Fault(rule="", message="", resource=resource, path=("binaryData", key)))
                message = f"{key} stands in binaryData, where kustomize puts what is not UTF-8: it cannot be judged; save it as UTF-8"
                problems.append(Problem(message=message, file=place.file, line=_line_of_no_utf8(place)))
        for key, text in data.items() if isinstance(data, dict) else ():
            if key.endswith(".py") and isinstance(text, str):
                yield resource, ("data", key)


def _line_of_no_utf8(place: Place) -> int | None:
    """The line of what is not UTF-8, where the file itself is what was put into the ConfigMap."""
    if place.file.suffix != ".py":
        return place.line
    try:
        source.read_text(place.file)
    except GateError as error:
        return error.line
    return None


def _reached(root: Path, target: Target, fault: Fault) -> tuple[str, ...]:
    """The targets that a fault reaches: the one that is checked, and in a cluster the run that it falls on."""
    resource = fault.owner or fault.resource
    if target.kind == "cluster" and resource and resource.unit.path.parent.name == "runs":
        return target.name, source.shown(root, resource.unit.path)
    return (target.name,)


def _with_others(root: Path, fault: Fault) -> Fault:
    """A fault that says where the other objects are that are a part of it."""
    places = [locate.locate(dataclasses.replace(fault, resource=other)) for other in fault.also]
    shown = ", ".join(dict.fromkeys(f"{source.shown(root, place.file)}:{place.line}" for place in places))
    return dataclasses.replace(fault, message=f"{fault.message} (also in {shown})") if shown else fault


def _whole(root: Path, wanted: Sequence[Target]) -> bool:
    """Whether everything that a repository is known to hold is checked, each cluster by its own facts."""
    judged = {target.path.resolve() for target in wanted if target.kind == "cluster" or not (target.path / facts.FILE_NAME).is_file()}
    known = {path.resolve() for path in _known(root)}
    return bool(known) and known <= judged


def _sorted_out(
    root: Path, located: Sequence[_Located], held: Sequence[Waiver], known: dict[str, Rule]
) -> tuple[list[_Located], list[Waived]]:
    """The faults that count, and the findings that a waiver hides."""
    counted: list[_Located] = []
    hidden: list[tuple[Waiver, list[_Located]]] = [(waiver, []) for waiver in held]
    for entry in located:
        fault, place, reached = entry
        waiver = waivers.find(held, fault.rule, source.shown(root, place.file), reached, fault.resource)
        next((entries for each, entries in hidden if each is waiver), counted).append(entry)
    return counted, [Waived(finding=finding, waiver=waiver) for waiver, entries in hidden for finding in _findings(entries, known)]


def _findings(located: Iterable[_Located], known: dict[str, Rule]) -> list[Finding]:
    """One finding for each fault of a source line, with all the targets that it reaches."""
    merged: dict[tuple[object, ...], Finding] = {}
    for fault, place, reached in located:
        rule = known[fault.rule]
        message = fault.message if locate.exists(fault) else f"{fault.message} (missing: {dotted(fault.path)})"
        key = (fault.rule, place.file, place.line, fault.message)
        before = merged.get(key)
        if before:
            merged[key] = dataclasses.replace(before, targets=tuple(sorted({*before.targets, *reached})))
            continue
        merged[key] = Finding(
            rule=fault.rule,
            severity=fault.severity or rule.severity,
            message=_readable(message),
            fix=fault.fix or rule.fix,
            targets=tuple(sorted(set(reached))),
            place=place,
            resource=fault.resource,
        )
    return sorted(merged.values(), key=lambda f: (str(f.place.file), f.place.line, SEVERITIES.index(f.severity), f.rule, f.message))


def _readable(message: str) -> str:
    """A message that no value of a pull request makes endless: its end says what is wrong with the value."""
    text = re.sub(rf"\S{{{_LONGEST_WORD + 1},}}", lambda word: f"{word[0][:100]}…{word[0][-20:]}", message)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} … {text[3 - _LONGEST // 2 :]}"


def _unique(problems: Iterable[Problem]) -> list[Problem]:
    """One problem for each place and message, with all the targets that it reaches."""
    merged: dict[Problem, set[str]] = {}
    for problem in problems:
        merged.setdefault(dataclasses.replace(problem, targets=()), set()).update(problem.targets)
    return [dataclasses.replace(problem, targets=tuple(sorted(reached))) for problem, reached in merged.items()]


__all__ = ["Resource", "Target", "check", "repository", "targets"]
