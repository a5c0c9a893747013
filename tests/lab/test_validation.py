"""What the gate says of one object by itself, against the real API server: server-side dry runs with strict validation.

Objects are sent as YAML, so that scalars are read there as they are there. A mutation of a valid object may be judged
differently only for the reasons that are written down here.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gate import check, facts, render, source
from gate.evaluate import Evaluator
from gate.model import get
from gate.schemas import Catalog
from tests.conftest import ROOT
from tests.gate import objects, test_validation
from tests.lab.conftest import Cluster
from tests.lab.live import Manifest

pytestmark = pytest.mark.lab
SAMPLE = 400
# Their webhooks answer with the whole object as Go writes it, before the schema is asked: what is missing is filled with nothing.
WRITTEN_ANEW = ("TrainJob", "JobSet", "ClusterQueue")
# The gate refuses, and the API server takes it: kinds (none: all), what the gate says, and why that is right.
STRICTER = (
    ((), r"not null", "an element of a list that is empty: Go reads one without content, which nobody means"),
    (WRITTEN_ANEW, r" is required ", "filled with nothing: a variable without name, a quota of 0"),
    (WRITTEN_ANEW, r"must be an integer or a string, not a number|which no int64 holds", "written anew: another quantity than Git has"),
    ((), r"which no int32 holds", "kept by the API server, and no controller can read the object"),
    ((), r"is no key of an? (label|annotation)|which no label may have", "in a template or a selector: what is made of it is refused"),
    (("Job", "LimitRange"), r" is required ", "a policy without rules, a limit without type: nothing that anybody means"),
    (("ConfigMap", "Secret"), r"must be string, not a list", "bytes as numbers"),
    (("Queue",), r"less than the minimum", "its webhook makes 1 of 0"),
)
# The API server refuses, and the gate says nothing: kinds (none: all), what the API server says, and why that is right.
BEYOND = (
    ((), r'namespaces "\S*" not found', "the test's own doing"),
    (("JobSet",), r"no such key: .*StartupPolicy", "a rule with exists(), of which the gate says that it cannot be evaluated (a warning)"),
    (("Namespace",), r'labels\[\S+\]: Invalid value: "": must be one of', "a label of null, which kustomize leaves out"),
    (("Pod",), r"must be less than or equal to \S+ limit of", "resources/requests-below-limits, of what trains"),
    (
        ("Pod",),
        r"resources\.\w+\[nvidia.com/gpu\]: Invalid value: \S+ must be (an integer|equal to)",
        "resources/extended-limits, of what trains",
    ),
    (("Pod",), r"no PriorityClass with name|error looking up service account", "another object"),
    (
        ("Pod",),
        r"^\S+ Invalid: Pod \"one\" is invalid: \[?spec\.\w+\[\d\]\.volumeMounts\[\d\]\.name: Not found",
        "follows from a volume at fault",
    ),
    (("LimitRange",), r"spec\.limits\[0\]\.(default|defaultRequest|max)\[", "amounts against one another, and names of resources by type"),
    (("PersistentVolume",), r"must be a valid resource quantity", "more than an int64 holds"),
    (("ValidatingAdmissionPolicy",), r"\.expression: Invalid value", "an expression is compiled, and its type looked at"),
)
# What webhooks refuse and no schema tells: kinds, what they say, and the rule of the gate that says it.
WEBHOOKS = (
    (("ClusterQueue", "Cohort"), r"denied the request: .*resourceGroups", "queue/quotas-accepted"),
    (("JobSet",), r"metadata|subdomain: Invalid|replicatedJobs\[0\]\.name: Invalid", "jobset/name-fits"),
    (("JobSet",), r"the product of replicas and parallelism", "nodes/gang-fits"),
    (("JobSet",), r"denied the request", "jobset/accepted"),
    (("ClusterTrainingRuntime", "TrainingRuntime"), r"must contain the required container", "trainer/node-container"),
    (("Queue",), r"denied the request", "queue/volcano-queue-accepted"),
    (("PodGroup",), r"unable to find queue", "queue/volcano-queue-exists"),
    (("TrainJob",), r"untimeRef|untime [\s\S]*not found|unsupported runtime", "trainer/runtime-exists"),
    (("TrainJob",), r"queue-name\]: Invalid value: \"\"", "queue/kueue-label"),
    (("TrainJob",), r"queue-name\]: Invalid value", "queue/local-queue-exists"),
    (("TrainJob",), r"runtimePatches\.manager", "trainer/runtime-patches"),
)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return facts.load(ROOT / "clusters/lab/cluster.yaml").catalog


@pytest.fixture(scope="module", autouse=True)
def namespace(cluster: Cluster) -> Iterator[None]:
    made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": objects.NAMESPACE}}
    cluster.kubectl("delete", "--ignore-not-found", "namespace", objects.NAMESPACE)  # one that is still going away
    cluster.apply(made)
    yield
    cluster.kubectl("delete", "--wait=false", "namespace", objects.NAMESPACE)


def judged(manifest: Manifest, catalog: Catalog, cluster: Cluster) -> tuple[list[str], str]:
    """What the gate says against an object, and what the API server does."""
    text = yaml.safe_dump(manifest, allow_unicode=True)
    (read,) = source.parse(text, Path("objects.yaml"))
    return [fault.message for fault in objects.refusals(render.without_nulls(read), catalog)], cluster.refusal(text, manifest)


@pytest.mark.parametrize("kind", objects.valid())
def test_valid_objects_are_accepted(kind: str, catalog: Catalog, cluster: Cluster) -> None:
    assert judged(objects.valid()[kind], catalog, cluster) == ([], "")


@pytest.mark.parametrize("case", objects.RULES, ids=lambda case: f"{case.kind}: {case.rule}")
def test_what_breaks_a_cel_rule_is_refused_there_too(case: objects.Rule, catalog: Catalog, cluster: Cluster) -> None:
    manifest = objects.valid()[case.kind]
    said, answer = judged(objects.changed(manifest, case.breaks), catalog, cluster)
    assert said
    assert "422 Invalid" in answer or "denied the request" in answer  # a webhook may be faster
    said, answer = judged(objects.changed(manifest, case.keeps), catalog, cluster)
    assert said == []
    assert answer == "" or "denied the request" in answer  # by a webhook, which asks more: that somebody uses the volume, for one


def elsewhere(manifest: Manifest) -> Manifest:
    """An object of the gate's own tests in the namespace of this one."""
    metadata = manifest.get("metadata", {})
    return {**manifest, "metadata": {**metadata, "namespace": objects.NAMESPACE}} if metadata.get("namespace") == "b" else manifest


@pytest.mark.parametrize("name", test_validation.REFUSED)
def test_what_the_gate_refuses_is_refused_there_too(name: str, catalog: Catalog, cluster: Cluster) -> None:
    said, answer = judged(elsewhere(test_validation.REFUSED[name][0]), catalog, cluster)
    assert said
    assert answer or explained(STRICTER, test_validation.REFUSED[name][0]["kind"], said[0]) or "generateName" in said[0]


@pytest.mark.parametrize("name", test_validation.PASSED)
def test_what_the_gate_passes_is_accepted_there_too(name: str, catalog: Catalog, cluster: Cluster) -> None:
    assert judged(elsewhere(test_validation.PASSED[name]), catalog, cluster) == ([], "")


APPLICATION = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"namespace": objects.NAMESPACE}}


def test_scalars_are_read_as_there(cluster: Cluster) -> None:
    """A field of any shape shows what the API server made of each."""
    known = [*test_validation.PLAIN, *_random_scalars(300)]
    text = "".join(f"        v{number}: {scalar}\n" for number, scalar in enumerate(known))
    head = f"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: a, namespace: {objects.NAMESPACE}}}\nspec:\n"
    head += "  project: p\n  destination: {name: x}\n  source:\n    repoURL: https://example.com\n    helm:\n      valuesObject:\n"
    there = cluster.dry_run(head + text, APPLICATION)
    (here,) = source.parse(head + text, Path("a.yaml"))
    one, other = (get(each, ("spec", "source", "helm", "valuesObject")) for each in (here, there))
    assert {key: (type(value), value) for key, value in one.items()} == {key: (type(value), value) for key, value in other.items()}


def _random_scalars(number: int) -> list[str]:
    """Words of what numbers, booleans and dates are made of, that begin no collection."""
    draw = random.Random(0)
    words = ("".join(draw.choice("0123456789_.eExXoObBtTyYnNfF+-") for _ in range(draw.randint(1, 6))) for _ in range(number))
    return [word for word in words if word not in ("-", "---", "...") and not re.fullmatch(r"[+-]?\.(?:inf|nan)", word.lower())]


def mutated() -> list[tuple[str, str, Manifest]]:
    return [(kind, words, each) for kind, manifest in objects.valid().items() for words, each in objects.mutations(manifest)]


def test_mutated_objects_are_judged_alike(catalog: Catalog, cluster: Cluster, opa: Evaluator, tmp_path: Path) -> None:
    alike(random.Random(0).sample(mutated(), SAMPLE), catalog, cluster, opa, tmp_path)


@pytest.mark.long
def test_all_mutated_objects_are_judged_alike(catalog: Catalog, cluster: Cluster, opa: Evaluator, tmp_path: Path) -> None:
    alike(mutated(), catalog, cluster, opa, tmp_path)


def alike(wanted: list[tuple[str, str, Manifest]], catalog: Catalog, cluster: Cluster, opa: Evaluator, folder: Path) -> None:
    differences: list[str] = []
    denied: list[tuple[str, str, Manifest]] = []
    for kind, words, manifest in wanted:
        said, answer = judged(manifest, catalog, cluster)
        if said and not answer:
            if not all(explained(STRICTER, kind, each) for each in said) and not refused_later(manifest, cluster):
                differences.append(f"{kind} {words}: only the gate refuses: {said}")
        elif answer and not said and not explained(BEYOND, kind, answer):
            told = f"{kind} {words}: only the API server refuses: {answer}"
            if rule := next((rule for kinds, pattern, rule in WEBHOOKS if kind in kinds and re.search(pattern, answer)), None):
                denied.append((told, rule, manifest))
            else:
                differences.append(told)
    rules = rules_against([manifest for *_, manifest in denied], opa, folder)
    differences += [f"{told}: {rule} does not" for (told, rule, _), found in zip(denied, rules, strict=True) if rule not in found]
    assert not differences, "\n".join(differences)


def explained(reasons: Any, kind: str, said: str) -> bool:
    return any((not kinds or kind in kinds) and re.search(pattern, said) for kinds, pattern, _ in reasons)


def rules_against(manifests: list[Manifest], opa: Evaluator, folder: Path) -> list[set[str]]:
    """The rules of which the whole gate finds an error in each object, as another target in the cluster."""
    files = [folder / f"{number}.yaml" for number in range(len(manifests))]
    for file, manifest in zip(files, manifests, strict=True):
        file.write_text(yaml.safe_dump(manifest, allow_unicode=True), encoding="utf-8")
    outcome = check.check(ROOT, check.targets(ROOT, files, "lab"), evaluator=opa)
    errors = [finding for finding in outcome.findings if finding.severity == "error"]
    return [{finding.rule for finding in errors if finding.place.file == file} for file in files]


def refused_later(manifest: Manifest, cluster: Cluster) -> bool:
    """Whether the API server refuses a Job or a pod that is made of an object, which it takes itself."""
    return any(cluster.refusal(yaml.safe_dump(each, allow_unicode=True), each) for each in made(manifest))


def made(manifest: Manifest) -> list[Manifest]:
    """The Jobs and the pods that are made of an object, with as little of what controllers add as makes them valid."""
    kind, spec = manifest["kind"], copy.deepcopy(manifest.get("spec") or {})
    if kind in ("Job", "Deployment"):
        return [_pod(spec["template"])]
    if kind == "JobSet":
        jobs = spec.get("replicatedJobs", [])
    elif kind in ("ClusterTrainingRuntime", "TrainingRuntime"):
        jobs = get(spec, ("template", "spec", "replicatedJobs")) or []
    else:
        jobs = []
    templates = [job["template"] for job in jobs]
    if kind == "TrainJob":
        trainer = spec["trainer"]
        given = {
            "name": "node",
            **{key: trainer[key] for key in ("image", "env") if key in trainer},
            "resources": trainer["resourcesPerNode"],
        }
        templates += [{"spec": {"template": {"spec": {"containers": [given]}}}}]
        patches = [get(patch, ("trainingRuntimeSpec", "template", "spec", "replicatedJobs")) or [] for patch in spec["runtimePatches"]]
        templates += [job["template"] for patch in patches for job in patch]
    return [each for template in templates for each in (_job(template), _pod(template["spec"]["template"]))]


def _job(template: Manifest) -> Manifest:
    """A Job as JobSet makes it of a template."""
    pod = _pod(template["spec"]["template"])
    spec = {"completionMode": "Indexed", "completions": 1, "parallelism": 1, **template["spec"], "template": {"spec": pod["spec"]}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "made", "namespace": objects.NAMESPACE}, "spec": spec}


def _pod(template: Manifest) -> Manifest:
    spec = {"restartPolicy": "OnFailure", "containers": [{"name": "node"}], **copy.deepcopy(template.get("spec") or {})}
    for container in spec["containers"]:
        container.setdefault("image", "busybox")
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "made", "namespace": objects.NAMESPACE}, "spec": spec}


@pytest.mark.parametrize("kind", ["Job", "Deployment", "JobSet", "ClusterTrainingRuntime", "TrainingRuntime", "TrainJob"])
def test_what_is_made_of_valid_objects_is_accepted(kind: str, cluster: Cluster) -> None:
    found = made(objects.valid()[kind])
    assert found
    assert not refused_later(objects.valid()[kind], cluster)
