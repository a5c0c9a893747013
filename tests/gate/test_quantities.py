"""Quantities: the form in which they are stored, held to Kubernetes' own code, and where that is an error."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gate import quantities, schemas
from gate.model import Resource, Unit
from tests.oracle.build import Oracle

NEWEST = "2.3.0"
RUNTIME = """
kind: ClusterTrainingRuntime
metadata: {name: r}
spec:
  mlPolicy: {numNodes: 1}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: a}]}}}
"""
KNOWN = {
    "1": "1", "2000m": "2", "1500m": "1500m", "0.5": "500m", "1.5": "1500m", "2048Mi": "2Gi", "1000Mi": "1000Mi", "0.5Gi": "512Mi",
    "1000": "1k", "1000000k": "1G", "1500": "1500", "512Gi": "512Gi", "1e3": "1e3", "1e4": "10e3", "0": "0", "0Mi": "0", "1.5Ki": "1536",
    "1.500": "1.500", "+2": "+2", "01": "01", "1Ki": "1Ki", "1000m": "1", "100m": "100m", "9707137Ti": "9223372036854775807",
}  # fmt: skip


def stored(oracle: Oracle, written: list[str]) -> list[str]:
    """What Kubernetes' Quantity writes for each: as the requests of a TrainJob come out of Trainer."""
    requests = {f"x.y/{index}": each for index, each in enumerate(written)}
    runtime = {"apiGroup": "trainer.kubeflow.org", "kind": "ClusterTrainingRuntime", "name": "r"}
    spec = {"runtimeRef": runtime, "trainer": {"resourcesPerNode": {"requests": requests}}}
    job = {"metadata": {"name": "a", "namespace": "training"}, "spec": spec}
    made = oracle.ask(job, yaml.safe_load(RUNTIME))["JobSet"]
    container = made["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]
    return [container["resources"]["requests"][name] for name in requests]


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with Oracle(NEWEST) as running:
        yield running


def test_known_forms(oracle: Oracle) -> None:
    assert stored(oracle, list(KNOWN)) == list(KNOWN.values())
    assert {written: quantities.canonical(written) for written in KNOWN} == KNOWN


_NUMBERS = st.from_regex(r"[+-]?([0-9]{1,12}|[0-9]{1,6}\.[0-9]{0,6}|\.[0-9]{1,6})", fullmatch=True)
_SUFFIXES = st.sampled_from(["", "n", "u", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti", "e0", "e3", "e4", "E-2", "E5"])


@settings(max_examples=20, deadline=None, derandomize=True)
@given(written=st.lists(st.tuples(_NUMBERS, _SUFFIXES).map("".join), min_size=20, max_size=20))
def test_any_form_is_stored_as_kubernetes_stores_it(oracle: Oracle, written: list[str]) -> None:
    assert [quantities.canonical(each) for each in written] == stored(oracle, written)


@pytest.mark.parametrize("text", ["", "a", "1 Gi", "Gi", ".", "1" * 50, "1e999", "--1", "1.2.3"])
def test_what_is_none_is_left_to_the_schema(text: str) -> None:
    assert quantities.canonical(text) is None


def judged(text: str, trainer: str = NEWEST) -> list[tuple[str, str, str]]:
    manifest: dict[str, Any] = yaml.safe_load(text)
    resource = Resource(manifest=manifest, unit=Unit(path=Path("a.yaml"), kustomization=False))
    catalog = schemas.catalog((("trainer", trainer),))
    kind = catalog.kinds[(resource.api_version, resource.kind)]
    return [(fault.severity or "", fault.message, fault.fix or "") for fault in quantities.faults(resource, kind, catalog.definitions)]


TRAINJOB = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: a}
spec:
  runtimeRef: {name: r}
  trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: 1}}}
"""


def test_an_immutable_field_is_an_error() -> None:
    assert judged(TRAINJOB) == [
        (
            "error",
            'spec.trainer.resourcesPerNode.limits["nvidia.com/gpu"] is 1 and is stored as "1": '
            "the field is immutable, so that the next sync is refused, and every one after it",
            'Write "1".',
        )
    ]


def test_trainer_2_1_lets_it_change() -> None:
    assert [severity for severity, _, _ in judged(TRAINJOB, "2.1.0")] == ["warning"]


def test_a_built_in_kind_is_a_warning() -> None:
    claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a}\nspec: {resources: {requests: {storage: 2048Mi}}}\n"
    assert judged(claim) == [
        ("warning", 'spec.resources.requests.storage is 2048Mi and is stored as "2Gi": Argo CD sees a difference', 'Write "2Gi".')
    ]


def test_a_kind_that_nothing_writes_anew_is_left_alone() -> None:
    queue = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: a}\nspec: {capability: {cpu: 2000m}}\n"
    assert judged(queue) == []
