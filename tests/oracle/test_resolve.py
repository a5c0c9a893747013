"""The effective JobSet that the gate resolves is the one that Trainer makes, in every version that the gate knows.

Trainer's own code answers (main.go); what it alone adds is listed in TRAINERS_OWN and `without_trainers_own`, where its
PodGroup does not count what the pods ask for in `miscounted`. Everything else must be equal, both ways.
"""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kubernetes.utils.quantity import parse_quantity

from gate import check, render, resolve, schemas, tools
from gate.model import GateError, Resource, Unit, get
from tests.conftest import ROOT
from tests.oracle.build import HERE, VERSIONS, Oracle

CASES: dict[str, Any] = yaml.safe_load((HERE / "cases.yaml").read_text(encoding="utf-8"))
TRAINER, NODE = "trainer", "node"
Ask = Callable[[str], Oracle]

# Go leaves these out where they are empty or false, and the API server means the same by it
EMPTY_IS_ABSENT = {"metadata", "labels", "annotations", "resources", "limits", "requests", "nodeSelector"}
FALSE_IS_ABSENT = {"readOnly"}
DEFAULTS = {("fieldRef", "apiVersion"): "v1", ("resourceFieldRef", "divisor"): 0.0}
QUANTITIES, LISTS_OF_QUANTITIES = {"sizeLimit", "divisor", "storage"}, {"limits", "requests", "overhead", "minResources"}

# What a plugin of an mlPolicy puts into pods, by the list that it stands in: the gate refuses these policies for TensorFlow
# (trainer/no-framework-policy) and only the numbers of nodes and the resources matter to it.
TRAINERS_OWN = {
    "torch": {"env": "PET_", "ports": 29500},
    "mpi": {"env": "OMPI_", "volumes": "mpi-", "volumeMounts": "mpi-"},
}


@pytest.fixture(scope="session")
def ask() -> Iterator[Ask]:
    """The oracle of a version, each started once."""
    tools.setup()
    with contextlib.ExitStack() as stack:
        yield functools.cache(lambda version: stack.enter_context(Oracle(version)))


def test_every_minor_version_that_the_gate_knows_has_an_oracle() -> None:
    """The patch releases of 2.2 differ in validation and clients only (compared: pkg/runtime)."""
    minor = lambda versions: {version.rpartition(".")[0] for version in versions}  # noqa: E731
    known = schemas.sources()["trainer"].versions
    assert minor(VERSIONS) == minor(known)
    assert set(VERSIONS) <= set(known)


def test_oracles_are_pinned_to_the_code_whose_schemas_the_gate_reads() -> None:
    for version, digest in schemas.sources()["trainer"].versions.items():
        if version in VERSIONS:
            assert f"github.com/kubeflow/trainer/v2 v{version} {digest}\n" in (HERE / version / "go.sum").read_text(encoding="utf-8")


# --- comparison ---------------------------------------------------------------------------------------------------


def canonical(value: Any, key: str = "", inside: str = "") -> Any:
    """A value as the API server means it: quantities as numbers, nothing that is empty or a default."""
    if inside in LISTS_OF_QUANTITIES or key in QUANTITIES:
        return value if isinstance(value, dict | list) else float(parse_quantity(str(value)))
    if isinstance(value, list):
        return [canonical(item, inside=key) for item in value]
    if not isinstance(value, dict):
        return value
    made = {name: canonical(item, name, key) for name, item in value.items()}
    return {name: item for name, item in made.items() if not _means_nothing(name, item, key)}


def _means_nothing(key: str, value: Any, inside: str) -> bool:
    if value is None or value == [] or value == "" or DEFAULTS.get((inside, key)) == value:
        return True
    return (key in EMPTY_IS_ABSENT and value == {}) or (key in FALSE_IS_ABSENT and value is False)


def without_trainers_own(jobset: dict[str, Any], job: dict[str, Any], runtime: dict[str, Any]) -> dict[str, Any]:
    """The metadata and spec of Trainer's JobSet without what it adds for itself; what has one right value is checked here."""
    made = copy.deepcopy({"metadata": jobset["metadata"], "spec": jobset["spec"]})
    assert made["metadata"].pop("name") == job["metadata"]["name"]
    assert made["metadata"].pop("namespace") == job["metadata"]["namespace"]
    made["metadata"].pop("ownerReferences")  # the TrainJob
    assert made["spec"].pop("suspend", None) == job["spec"].get("suspend")
    for pod in pods(made):
        if get(runtime, ("spec", "podGroupPolicy", "volcano")) is not None:
            # how Volcano finds the PodGroup that Trainer makes
            assert pod["metadata"]["annotations"].pop("scheduling.k8s.io/group-name") == job["metadata"]["name"]
        for policy, added in TRAINERS_OWN.items():
            if get(runtime, ("spec", "mlPolicy", policy)) is not None:
                for holder in (pod["spec"], *pod["spec"].get("containers", [])):
                    for name in added.keys() & holder.keys():
                        holder[name] = [item for item in holder[name] if not _adds(item, added[name])]
    return made


def _adds(item: dict[str, Any], added: str | int) -> bool:
    return item.get("containerPort") == added or (isinstance(added, str) and item["name"].startswith(added))


def pods(jobset: dict[str, Any]) -> list[dict[str, Any]]:
    return [job["template"]["spec"]["template"] for job in jobset["spec"]["replicatedJobs"]]


def miscounted(version: str, job: dict[str, Any], runtime: dict[str, Any], workload: resolve.Workload) -> set[str]:
    """The resources of which Trainer's PodGroup does not count what the pods will ask for.

    Up to 2.2 it counts apart from what it does with resourcesPerNode: 2.1 never applies it to the count, 2.2 only for a
    Job with the label in a runtime with an mlPolicy, but then an empty one too, which the JobSet does not get. No version
    takes a limit as the request that the API server makes of it.
    """
    assert workload.effective
    stale: set[str] = set()
    given, policy = get(job, ("spec", "trainer", "resourcesPerNode")), get(runtime, ("spec", "mlPolicy"))
    right = version == "2.3.0" or (version == "2.2.1" and given and policy is not None and "mpi" not in policy)
    if given is not None and not right:
        for pod in (*pods(runtime["spec"]["template"]), *pods(workload.effective.value)):
            for container in pod["spec"]["containers"]:
                stale |= set(get(container, ("resources", "requests")) or {})
    for pod in pods(workload.effective.value):
        for holder in (pod["spec"], *pod["spec"].get("containers", []), *pod["spec"].get("initContainers", [])):
            resources = holder.get("resources") or {}
            stale |= (resources.get("limits") or {}).keys() - (resources.get("requests") or {}).keys()
    return stale


def compare(version: str, oracle: Oracle, resources: list[Resource], workload: resolve.Workload) -> None:
    assert workload.effective, f"{workload.name}: the runtime is not there"
    assert workload.runtime is not None
    job, runtime = resources[workload.object].manifest, resources[workload.runtime].manifest
    made = oracle.ask(job, runtime)
    theirs = without_trainers_own(made["JobSet"], job, runtime)
    ours = copy.deepcopy(workload.effective.value)
    ours["spec"].pop("suspend", None)  # a template's is overwritten by the TrainJob's
    assert dict(_leaves(canonical(ours))) == dict(_leaves(canonical(theirs)))
    _compare_origins(workload, resources)
    grouped = get(runtime, ("spec", "podGroupPolicy", "volcano")) is not None
    assert ("PodGroup" in made) == grouped
    if grouped:
        members: dict[int, int] = {}
        for pod in workload.pods:  # replicas of a Job that Trainer does not fill in are not counted
            replicas = ours["spec"]["replicatedJobs"][pod["replicatedJob"]].get("replicas", 1)
            members[pod["replicatedJob"]] = pod["count"] // replicas
        assert made["PodGroup"]["spec"]["minMember"] == sum(members.values())
        demand: dict[str, float] = {}
        for pod in workload.pods:
            for name, amount in pod["requests"].items():
                demand[name] = demand.get(name, 0.0) + float(amount) * members[pod["replicatedJob"]]
        stale = miscounted(version, job, runtime, workload)
        theirs = canonical(made["PodGroup"]["spec"].get("minResources", {}), "minResources", "")
        counted = lambda amounts: {name: amount for name, amount in amounts.items() if name not in stale and amount}  # noqa: E731
        assert counted(demand) == pytest.approx(counted(theirs))
        assert made["PodGroup"]["spec"].get("queue") == get(ours, ("metadata", "annotations", "scheduling.volcano.sh/queue-name"))


def _compare_origins(workload: resolve.Workload, resources: list[Resource]) -> None:
    """Every value that is copied stands where its origin says; counts and an initializer's variables are computed."""
    assert workload.effective
    for path, value in _leaves(workload.effective.value):
        if path[-1] in ("parallelism", "completions", "replicas") or "envFrom" in path or value in ({}, []):
            continue
        index, origin = workload.effective.origin(path)
        if origin[1:2] != ("initializer",):
            assert get(resources[index].manifest, origin) == value, f"{path} is said to come from {origin}"


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every value that holds no other, with its path."""
    if not value or not isinstance(value, dict | list):
        yield path, value
        return
    for key, child in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _leaves(child, (*path, key))


def compare_documents(version: str, ask: Ask, job: dict[str, Any], runtime: dict[str, Any]) -> None:
    unit = Unit(path=Path("made-up"), kustomization=False)
    resources = [Resource(manifest=job, unit=unit), Resource(manifest=runtime, unit=unit)]
    (workload,) = resolve.resolve(resources, schemas.catalog((("trainer", version),)))
    compare(version, ask(version), resources, workload)


# --- the estate ---------------------------------------------------------------------------------------------------


def estate() -> list[str]:
    overlays = [path for path in (ROOT / "overlays").iterdir() if path.is_dir()]
    runs = [path for path in (ROOT / "clusters").glob("*/runs/*") if path.is_dir()]
    return [str(path.relative_to(ROOT)) for path in sorted([*overlays, *runs])]


@pytest.mark.parametrize("path", estate())
def test_estate(path: str, ask: Ask) -> None:
    """Each TrainJob of an overlay or run by the version of its cluster, and an overlay by every version that takes its fields."""
    (target,) = check.targets(ROOT, [ROOT / path], None)
    assert target.problem is None, target.problem
    rendered = render.render_all([*target.units, *target.beside])
    broken = [problem for made in rendered.values() for problem in made.problems]
    assert not broken, broken
    resources = [resource for unit in (*target.units, *target.beside) for resource in rendered[unit].resources]
    catalogs = [target.facts.catalog] if target.facts else [schemas.catalog((("trainer", version),)) for version in VERSIONS]
    compared = 0
    for catalog in catalogs:
        version = catalog.versions["trainer"]
        assert version in VERSIONS, f"no oracle for Trainer {version}"
        for workload in resolve.resolve(resources, catalog):
            job = resources[workload.object]
            if workload.kind != "TrainJob" or (version == "2.1.0" and "runtimePatches" in job.manifest["spec"]):
                continue  # 2.1 does not know runtimePatches: the schema refuses them there
            compare(version, ask(version), resources, workload)
            compared += 1
    assert compared, "there is no TrainJob to compare"


# --- made-up inputs -----------------------------------------------------------------------------------------------


def edited(document: dict[str, Any], edits: dict[str, Any]) -> dict[str, Any]:
    made = copy.deepcopy(document)
    for path, value in edits.items():
        *way, last = (int(step) if step.isdigit() else step for step in path.split("."))
        at: Any = made
        for step in way:
            at = at[step] if isinstance(at, list) else at.setdefault(step, {})
        if value is None:
            del at[last]
        else:
            at[last] = copy.deepcopy(value)
    return made


PARAMETERS = [
    pytest.param(case, version, id=f"{case['name']} ({version})") for case in CASES["cases"] for version in case.get("versions", VERSIONS)
]


@pytest.mark.parametrize(("case", "version"), PARAMETERS)
def test_case(case: dict[str, Any], version: str, ask: Ask) -> None:
    job, runtime = edited(CASES["trainJob"], case.get("trainJob", {})), edited(CASES["runtime"], case.get("runtime", {}))
    compare_documents(version, ask, job, runtime)


def test_an_input_that_trainer_would_not_read_fails_here(ask: Ask) -> None:
    job = edited(CASES["trainJob"], {"spec.nothing": 1})
    for version in VERSIONS:
        with pytest.raises(AssertionError, match="unknown field"):
            compare_documents(version, ask, job, CASES["runtime"])


def test_a_missing_go_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from tests.oracle import build

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    with pytest.raises(GateError, match="go is missing"):
        build.binary(VERSIONS[-1])


# --- generated inputs ---------------------------------------------------------------------------------------------


def some(optional: dict[str, st.SearchStrategy[Any]], **required: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required, optional=optional)


def unique(key: str, items: st.SearchStrategy[dict[str, Any]], most: int = 3) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(items, max_size=most, unique_by=lambda item: str(item[key]))


def one(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


NAMES = one("A", "B", "C", "X", "Y")
LABELS = st.dictionaries(one("a", "b", "origin"), one("", "1", "2"), max_size=2)
METADATA = some({"labels": LABELS, "annotations": LABELS})
FIELD = st.fixed_dictionaries({"fieldRef": st.fixed_dictionaries({"fieldPath": one("metadata.name", "metadata.uid")})})
ENV = unique("name", st.one_of(some({"value": one("", "1", "$(A)")}, name=NAMES), some({}, name=NAMES, valueFrom=FIELD)))
SOURCES = st.one_of(
    some({}, emptyDir=some({"medium": one("", "Memory"), "sizeLimit": one("1Gi", "1024Mi", "2Gi")})),
    some({}, configMap=some({"defaultMode": one(0, 420), "optional": st.booleans()}, name=one("code", "other"))),
    some({}, persistentVolumeClaim=some({"readOnly": st.booleans()}, claimName=one("data", "other"))),
)
VOLUMES = unique("name", st.builds(lambda name, source: {"name": name, **source}, one("shm", "data", "code", "new"), SOURCES), 4)
MOUNTS = unique(
    "mountPath",
    some(
        {"readOnly": st.booleans(), "subPath": one("", "s")},
        name=one("shm", "data", "code"),
        mountPath=one("/dev/shm", "/data", "/x", "/y"),
    ),
)
TOLERATION = some(
    {"key": one("gpu", "other"), "effect": one("NoSchedule", "NoExecute"), "tolerationSeconds": one(0, 5)}, operator=one("Exists", "Equal")
)
TERMS = st.lists(
    some({}, matchExpressions=st.lists(some({}, key=one("pool"), operator=one("In"), values=one(["a"], ["b", "a"])), max_size=2)),
    max_size=2,
)
AFFINITY = some(
    {
        "nodeAffinity": some({"requiredDuringSchedulingIgnoredDuringExecution": some({}, nodeSelectorTerms=TERMS)}),
        "podAntiAffinity": some(
            {"requiredDuringSchedulingIgnoredDuringExecution": st.lists(some({}, topologyKey=one("zone", "host")), max_size=2)}
        ),
    }
)
POD_SECURITY = some({"runAsUser": one(0, 7), "runAsNonRoot": st.booleans(), "supplementalGroups": st.lists(one(1, 2, 3), max_size=2)})
SECURITY = some(
    {
        "privileged": st.booleans(),
        "capabilities": some({"add": st.lists(one("IPC_LOCK", "SYS_NICE"), max_size=2), "drop": st.lists(one("ALL"), max_size=1)}),
    }
)
OVERRIDE = {"env": ENV, "volumeMounts": MOUNTS}
POD_OVERRIDE = {
    "serviceAccountName": one("", "one"),
    "nodeSelector": st.dictionaries(one("pool", "disk"), one("", "a", "b"), max_size=2),
    "affinity": AFFINITY,
    "tolerations": st.lists(TOLERATION, max_size=2),
    "volumes": VOLUMES,
    "schedulingGates": unique("name", some({}, name=one("x/a", "x/b", "x/c"))),
    "imagePullSecrets": unique("name", some({}, name=one("first", "second", "third", "fourth"))),
}


def pod_override(version: str) -> st.SearchStrategy[dict[str, Any]]:
    container = {**OVERRIDE, "securityContext": SECURITY} if version != "2.1.0" else OVERRIDE
    pod = {
        **POD_OVERRIDE,
        "containers": unique("name", some(container, name=one("node", "side"))),
        "initContainers": unique("name", some(container, name=one("setup"))),
    }
    if version != "2.1.0":
        pod["securityContext"] = POD_SECURITY
    if version == "2.3.0":
        pod["terminationGracePeriodSeconds"] = one(0, 30)
    return some(pod)


AMOUNTS = st.dictionaries(one("cpu", "memory", "nvidia.com/gpu"), one("1", "2000m", "2", "0.5", "4e0"), max_size=3)
TRAINER_FIELDS = some(
    {
        "numNodes": st.integers(1, 9),
        "image": one("", "other"),
        "command": one([], ["x"], ["x", "--y"]),
        "args": one([], ["z"]),
        "env": ENV,
        "resourcesPerNode": some({"limits": AMOUNTS, "requests": AMOUNTS}),
    }
)
JOBS = one("node", "helper", "dataset-initializer")


def train_jobs(version: str) -> st.SearchStrategy[dict[str, Any]]:
    pod = pod_override(version)
    if version == "2.1.0":
        targets = st.lists(some({}, name=JOBS), min_size=1, max_size=3, unique_by=lambda target: str(target["name"]))
        spec = {
            "podTemplateOverrides": st.lists(some({"metadata": METADATA, "spec": pod}, targetJobs=targets), max_size=3),
            "labels": LABELS,
            "annotations": LABELS,
        }
    else:
        job = some({"metadata": METADATA, "spec": some({"template": some({"metadata": METADATA, "spec": pod})})})
        patch = some({"metadata": METADATA, "spec": some({"replicatedJobs": unique("name", some({"template": job}, name=JOBS))})})
        runtime_patch = some({"trainingRuntimeSpec": some({"template": patch})}, manager=one("test.dev/one"))
        spec = {"runtimePatches": st.lists(runtime_patch, max_size=3)}
    return some({**spec, "trainer": TRAINER_FIELDS}, runtimeRef=st.just(CASES["trainJob"]["spec"]["runtimeRef"]))


RUNTIME_EDITS = some(
    {
        "spec.mlPolicy": one({}, None, {"numNodes": 2}),
        "spec.template.metadata": st.one_of(st.none(), METADATA),
        "spec.podGroupPolicy": one({"volcano": {}}),
        "spec.template.spec.replicatedJobs.0.template.metadata": one({"labels": {}}),
        "spec.template.spec.replicatedJobs.1.template.metadata": one({"labels": {"other": "label"}}),
        "spec.template.spec.replicatedJobs.1.template.spec.parallelism": one(0, 1, 6),
        "spec.template.spec.replicatedJobs.2.replicas": one(1, 3),
        "spec.template.spec.replicatedJobs.1.template.spec.template.spec.containers.1.env": ENV,
        "spec.template.spec.replicatedJobs.1.template.spec.template.spec.containers.1.resources": some(
            {"limits": AMOUNTS, "requests": AMOUNTS}
        ),
        "spec.template.spec.replicatedJobs.1.template.spec.template.spec.containers.0.volumeMounts": MOUNTS,
        "spec.template.spec.replicatedJobs.1.template.spec.template.spec.initContainers.0.env": ENV,
        "spec.template.spec.replicatedJobs.1.template.spec.template.spec.volumes": VOLUMES,
        "spec.template.spec.replicatedJobs.1.template.spec.template.spec.securityContext": POD_SECURITY,
        "spec.template.spec.replicatedJobs.1.template.spec.template.spec.affinity": AFFINITY,
        "spec.template.spec.replicatedJobs.2.template.spec.template.spec.schedulingGates": one([{"name": "x/c"}, {"name": "x/a"}]),
    }
)


@pytest.mark.parametrize("version", VERSIONS)
def test_generated(version: str, ask: Ask) -> None:
    @settings(max_examples=200, derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(spec=train_jobs(version), edits=RUNTIME_EDITS)
    def agree(spec: dict[str, Any], edits: dict[str, Any]) -> None:
        compare_documents(version, ask, {**CASES["trainJob"], "spec": spec}, edited(CASES["runtime"], edits))

    agree()
