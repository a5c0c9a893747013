"""The CRDs' own rules are evaluated offline; that the API server refuses the same is for the lab to show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gate import cel, schemas, tools
from gate.model import Resource, Unit
from tests.command import report
from tests.edit import edited
from tests.gate import objects
from tests.rules.test_rules import HERE

tools.setup()
CATALOGS = [
    pytest.param(component, version, id=f"{component} {version}")
    for component, source in schemas.sources().items()
    if source.crds
    for version in source.versions
]


def expressions(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        for rule in schema.get("x-kubernetes-validations", ()):
            yield rule["rule"]
        for child in schema.values():
            yield from expressions(child)
    elif isinstance(schema, list):
        for child in schema:
            yield from expressions(child)


@pytest.mark.parametrize(("component", "version"), CATALOGS)
def test_every_rule_of_every_known_crd_compiles(component: str, version: str) -> None:
    catalog = schemas.catalog(((component, version),))
    for kind in catalog.kinds.values():
        if kind.component == component:
            for expression in expressions(kind.schema):
                cel._program(expression)


def patterns(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        for child in schema.values():
            yield from patterns(child)
    elif isinstance(schema, list):
        for child in schema:
            yield from patterns(child)


@pytest.mark.parametrize(("component", "version"), CATALOGS)
def test_every_pattern_of_every_known_crd_compiles(component: str, version: str) -> None:
    for kind in schemas.catalog(((component, version),)).kinds.values():
        for pattern in patterns(kind.schema):
            re.compile(pattern)


def judge(tmp_path: Path, text: str, cluster: str = "kueue") -> list[dict[str, Any]]:
    (tmp_path / "clusters").mkdir()
    file = tmp_path / "a.yaml"
    file.write_text(text, encoding="utf-8")
    _, document = report("--cluster", HERE / "clusters" / f"{cluster}.yaml", file)
    return [finding for finding in document["findings"] if finding["rule"] == "schema/cel"]


QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: lonely}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: any
      resources:
      - {name: cpu, nominalQuota: 4, borrowingLimit: 2}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
"""


def test_a_borrowing_limit_needs_a_cohort(tmp_path: Path) -> None:
    (finding,) = judge(tmp_path, QUEUE)
    assert (finding["severity"], finding["file"], finding["line"]) == ("error", "a.yaml", 11)
    assert "borrowingLimit must be nil when cohort is empty" in finding["message"]
    assert finding["message"].endswith("(kueue 0.17.0)")


JOBSET = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: a, namespace: b}
spec:
  startupPolicy: {startupPolicyOrder: InOrder}
  replicatedJobs:
  - &job {name: a, template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: 'registry.example/i:1'}]}}}}}
  - {<<: *job, name: b, dependsOn: [{name: a, status: Ready}]}
"""
FLAVOR = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
spec:
  tolerations:
  - {key: a, operator: Exists}
  - {key: b, operator: Exists, value: x}
  - {key: c, operator: Exists}
"""
TWO_LIMITS = QUEUE.replace("coveredResources: [cpu]", "coveredResources: [cpu, memory]").replace(
    "borrowingLimit: 2}", "borrowingLimit: 2}\n      - {name: memory, nominalQuota: 1Gi, borrowingLimit: 1Gi}"
)
DEEPEST = {
    "one of a list": (FLAVOR, 7, "spec.tolerations[1]: a value must be empty", "Change spec.tolerations[1] so that `self.all(x, "),
    "what two share": (
        TWO_LIMITS,
        9,
        "spec.resourceGroups[0].flavors[0]: borrowingLimit must be nil",
        "Change spec.resourceGroups[0].flavors[0] so that `",
    ),
    "either of two, and neither is named": (JOBSET, 4, "spec: StartupPolicy and DependsOn", "Change spec so that `"),
}


@pytest.mark.parametrize("name", DEEPEST)
def test_the_part_that_a_rule_turns_on_is_named(name: str, tmp_path: Path) -> None:
    text, line, message, fix = DEEPEST[name]
    (finding,) = judge(tmp_path, text)
    assert finding["fix"].startswith(fix)
    assert finding["message"].startswith(message)
    assert finding["line"] == line


def test_with_a_cohort_it_is_right(tmp_path: Path) -> None:
    assert (
        judge(tmp_path, edited(QUEUE, [{"replace": "spec:\n  namespaceSelector", "with": "spec:\n  cohortName: all\n  namespaceSelector"}]))
        == []
    )


def test_a_rule_between_defaulted_fields_sees_the_defaults(tmp_path: Path) -> None:
    """startupPolicyOrder is defaulted to AnyOrder before the rule on it is evaluated."""
    text = (HERE / "valid" / "jobset.yaml").read_text(encoding="utf-8")
    assert judge(tmp_path, text, "jobset") == []


def test_names_that_a_trainjob_cannot_have(tmp_path: Path) -> None:
    text = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: 9lives, namespace: a}\nspec: {runtimeRef: {name: torch}}\n"
    (finding,) = judge(tmp_path, text)
    assert "RFC 1035" in finding["message"]


def test_what_cannot_be_evaluated_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fails(expression: str) -> Any:
        raise RuntimeError("Undefined variable or function: 'quantity'")

    monkeypatch.setattr(cel, "_program", fails)
    found = judge(tmp_path, QUEUE)
    assert {finding["severity"] for finding in found} == {"warning"}
    assert "could not be evaluated: Undefined variable or function: 'quantity'" in found[0]["message"]


def test_a_name_that_will_be_generated_is_a_name(tmp_path: Path) -> None:
    text = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n"
    assert judge(tmp_path, text + "metadata: {generateName: lives-, namespace: a}\nspec: {runtimeRef: {name: torch}}\n") == []


def test_a_rule_that_lacks_its_field_is_broken_and_an_exists_may_overlook_it(tmp_path: Path) -> None:
    """The API server refuses what a rule fails on. Its exists() is true if one element is, whatever the others lack; here it fails."""
    resource = Resource(manifest={"spec": {"a": [{}, {"b": 1}]}}, unit=Unit(path=tmp_path, kustomization=False))
    schema = {"properties": {"spec": {"x-kubernetes-validations": [{"rule": "self.a.all(x, x.b == 1)", "message": "all b"}]}}}
    (fault,) = cel.faults(resource, schema, {}, "v")
    assert (fault.severity, fault.message) == (None, "spec: all b (there is no 'b') (v)")
    schema["properties"]["spec"]["x-kubernetes-validations"][0]["rule"] = "self.a.exists(x, x.b == 1)"
    (fault,) = cel.faults(resource, schema, {}, "v")
    assert fault.severity == "warning"
    assert "could not be evaluated: no such key: 'b'" in fault.message


def test_patterns_are_read_in_the_syntax_of_crds() -> None:
    assert cel.matches("AdmissionCheck", "^(?i)[a-z]([-a-z0-9]*[a-z0-9])?$"), "flags may stand anywhere"
    assert not cel.matches("a\n", "^a$"), "$ is the end, and not before a line's end"
    assert not cel.matches("a" * 5000, "^(a+)+b$"), "in linear time"


CATALOG = schemas.catalog(())


ASKED = schemas._asked()


@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked_besides_is_asked_of_fields_that_there_are(name: str) -> None:
    before = schemas.catalog((("trainer", "2.1.0"),))  # which had podTemplateOverrides
    of_kinds = [
        {f"{kind}.{api.rpartition('/')[0]}": entry.schema for (api, kind), entry in each.kinds.items()} for each in (CATALOG, before)
    ]
    known = [CATALOG.definitions.get(name) or kinds[name] for kinds in of_kinds]
    assert set.intersection(*({*strange(ASKED[name], each, name)} for each in known)) == set()
    for expression in expressions(ASKED[name]):
        cel._program(expression)


def strange(part: Any, schema: Any, path: str) -> Iterator[str]:
    """The paths of a part of a schema that the whole says nothing else of."""
    schema = schemas.resolved(schema, CATALOG.definitions)
    if "type" not in schema and "x-kubernetes-int-or-string" not in schema:
        yield path
    for key, child in part.get("properties", {}).items():
        yield from strange(child, schema.get("properties", {}).get(key, {}), f"{path}.{key}")
    for key in ("items", "additionalProperties"):
        if isinstance(part.get(key), dict):
            yield from strange(part[key], schema.get(key, {}), f"{path}.{key}")


def transition(rule: dict[str, Any]) -> bool:
    return "oldSelf" in rule["rule"]


def rules_of(schema: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Path and text of every rule that a new object can break, but for those of a status, which nobody writes."""
    if isinstance(schema, dict) and not path.startswith(".status"):
        yield from (
            (path, " ".join(rule["rule"].split()))
            for rule in schema.get("x-kubernetes-validations", ())
            if "of" not in rule and not transition(rule)
        )
        for name, child in schema.get("properties", {}).items():
            yield from rules_of(child, f"{path}.{name}")
        for child in (schema.get("items"), schema.get("additionalProperties")):
            yield from rules_of(child, path)


@pytest.mark.parametrize("kind", sorted({"TrainJob", *(rule.kind for rule in objects.RULES)}))
def test_every_rule_of_a_kind_has_a_case(kind: str) -> None:
    manifest = objects.valid()[kind]
    known = rules_of(CATALOG.kinds[(manifest["apiVersion"], kind)].schema)
    cases = [case.rule for case in objects.RULES if case.kind == kind]
    assert [(path, text) for path, text in known if not any(case in f"{path[6:]}: {text}" for case in cases)] == []


@pytest.mark.parametrize("case", objects.RULES, ids=lambda case: f"{case.kind}: {case.rule}")
def test_what_breaks_a_rule_is_refused_and_what_comes_near_is_passed(case: objects.Rule) -> None:
    manifest = objects.valid()[case.kind]
    assert objects.refusals(objects.changed(manifest, case.keeps), CATALOG) == []
    broken = objects.refusals(objects.changed(manifest, case.breaks), CATALOG)
    assert [fault.rule for fault in broken if fault.rule == "schema/cel"] != []


@pytest.mark.parametrize("kind", objects.valid())
def test_valid_objects_of_every_kind_pass(kind: str) -> None:
    assert objects.refusals(objects.valid()[kind], CATALOG) == []
