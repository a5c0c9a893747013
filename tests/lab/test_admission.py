"""The API server refuses what the rules refuse: the same objects, each created alone as a server-side dry run.

The policies are installed under other names, for a namespace of the test and marked objects, so that nothing else is judged.
"""

from __future__ import annotations

import copy
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import yaml

from gate.evaluate import Evaluator
from gate.model import Manifest
from lab import system
from tests.admission import shared
from tests.conftest import ROOT
from tests.lab.live import Namespace, trainjob

RUNS = "training.gitops/runs"
# What the API server says of one object: a policy's refusal, or that of a webhook, which comes after the policies.
REFUSAL = re.compile(  # kubectl has other words for one refusal than for several, and of two objects a new policy may hold for one
    r'"(?P<name>o\d+)" is (?:forbidden|invalid: ): ValidatingAdmissionPolicy \S+ with binding \S+ denied request: (?P<message>.*)'
)
WEBHOOK = re.compile(r'admission webhook "(?:validator|vjobset|vtrainjob)\S+" denied the request')
pytestmark = pytest.mark.lab


@dataclass(frozen=True, kw_only=True, slots=True)
class Server:
    """The API server with policies for one namespace."""

    namespace: Namespace

    @property
    def mark(self) -> Manifest:
        return {"training.gitops/test": self.namespace.name}

    def install(self, policies: list[Manifest], bindings: list[Manifest], **labels: str) -> None:
        """Installs policies for the namespace, which gets these labels, and for marked objects that have no namespace."""
        name = self.namespace.name
        made = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {**self.mark, **labels}}}]
        for manifest in copy.deepcopy([*policies, *bindings]):
            manifest["metadata"] |= {"name": f"{name}-{manifest['metadata']['name']}", "labels": self.mark}
            if "policyName" in manifest["spec"]:
                manifest["spec"]["policyName"] = f"{name}-{manifest['spec']['policyName']}"
                for selector in ("namespaceSelector", "objectSelector"):
                    if selected := manifest["spec"]["matchResources"].get(selector, {}).get("matchLabels"):
                        selected |= self.mark
                        selected.pop(RUNS, None)  # by which the lab's own policies would judge the same objects
            made.append(manifest)
        self.namespace.cluster.apply(*made)

    def refusals(self, manifests: list[Manifest]) -> list[str]:
        """For each object the rule that a policy's refusal names, "" where the policies admit it."""
        made = copy.deepcopy(manifests)
        for number, manifest in enumerate(made):
            manifest["metadata"] |= {"name": f"o{number}"}
            if manifest["kind"] == "ClusterTrainingRuntime":
                manifest["metadata"]["labels"] = {**manifest["metadata"].get("labels", {}), **self.mark}
            else:
                manifest["metadata"]["namespace"] = self.namespace.name
        found = [""] * len(made)
        for line in self.complaints(*made):
            if refusal := REFUSAL.search(line):
                found[int(refusal["name"][1:])] = shared.rule_of(refusal["message"])
            else:
                assert WEBHOOK.search(line), line
        return found

    def complaints(self, *manifests: Manifest) -> list[str]:
        """What the API server says against creating these objects, a line each."""
        command = system.command(self.namespace.cluster.lab, "create", "--dry-run=server", "--filename=-")
        done = subprocess.run(command, input=yaml.safe_dump_all(manifests), capture_output=True, text=True, timeout=300, check=False)
        return done.stderr.splitlines()


@pytest.fixture
def server(namespace: Namespace) -> Iterator[Server]:
    made = Server(namespace=namespace)
    yield made
    kinds = "validatingadmissionpolicybindings,validatingadmissionpolicies"
    namespace.cluster.kubectl("delete", kinds, f"--selector=training.gitops/test={namespace.name}")


def test_the_api_server_and_the_rules_judge_alike(server: Server, opa: Evaluator) -> None:
    objects = {name: each for name, each in shared.objects().items() if not _patched_by_kueue(each)}
    expected = [shared.refused_by_rules(manifest, opa) for manifest in objects.values()]
    for manifest, rules in zip(objects.values(), expected, strict=True):
        if manifest["kind"] == "JobSet" and "publishNotReadyAddresses" not in manifest["spec"].get("network", {}):
            rules -= {"jobset/publish-not-ready-addresses"}  # JobSet's webhook has written true before the policies see it
    differences: list[str] = []

    def alike() -> bool:  # a policy holds some time after it was written
        found = zip(objects, server.refusals([*objects.values()]), expected, strict=True)
        differences[:] = [
            f"{name}: {rule or 'nothing'} refuses it, not {rules}" for name, rule, rules in found if rule not in (rules or {""})
        ]
        return not differences

    server.install(*shared.policies_of_the_cases(), **{"training.gitops/queue": "kueue"})
    try:
        server.namespace.wait("the same verdicts", alike)
    finally:
        assert differences == []


@pytest.mark.parametrize("name", sorted(path.parent.name for path in ROOT.glob("clusters/*/cluster.yaml")))
def test_every_run_is_admitted_and_a_privileged_one_is_not(name: str, server: Server) -> None:
    estate = shared.estate(name)
    taken = [shared.privileged(each) for each in estate if each["kind"] == "TrainJob"]
    server.install(*shared.policies(ROOT / "clusters" / name / "admission"))
    expected = ["" for _ in estate] + ["run/allowed-overrides" for _ in taken]
    server.namespace.wait("admitted and refused", lambda: server.refusals([*estate, *taken]) == expected)


def test_a_policy_whose_list_is_longer_lets_in_what_the_cluster_does_not_have(server: Server) -> None:
    policies, bindings = shared.policies(ROOT / "clusters" / "lab" / "admission")
    run = copy.deepcopy(next(each for each in shared.estate("lab") if each["kind"] == "TrainJob"))
    (job,) = run["spec"]["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    job["template"]["spec"]["template"]["spec"]["serviceAccountName"] = "reader"
    server.install(policies, bindings)
    server.namespace.wait("it is refused", lambda: server.refusals([run]) == ["run/allowed-overrides"])
    (policy,) = (each for each in policies if each["metadata"]["name"] == "training-run-overrides")
    (accounts,) = (each for each in policy["spec"]["variables"] if each["name"] == "serviceAccounts")
    accounts["expression"] = '["reader"]'  # and clusters/lab/cluster.yaml has none
    server.install(policies, bindings)
    server.namespace.wait("it is let in", lambda: server.refusals([run]) == [""])


def test_a_run_is_queued_and_trained_and_nobody_forges_its_runtime(server: Server) -> None:
    """Trainer's snapshot and JobSet and Kueue's changes of the TrainJob pass the policies."""
    server.install(*shared.policies(ROOT / "clusters" / "lab" / "admission"))
    metadata = {"name": "queued-runtime-snapshot", "namespace": server.namespace.name}
    forged = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    server.namespace.wait("a forged one refused", lambda: "only Trainer writes the snapshot" in str(server.complaints(forged)))
    server.namespace.apply(*trainjob("queued", "print('trained')"))
    server.namespace.complete("queued")
    assert server.namespace.get("configmap", "queued-runtime-snapshot")["metadata"]["ownerReferences"][0]["name"] == "queued"


def _patched_by_kueue(manifest: Manifest) -> bool:
    """Kueue's webhook adds its patch to every new TrainJob: one that has it already is no valid object."""
    return any(each["manager"] == "kueue.x-k8s.io/manager" for each in manifest["spec"].get("runtimePatches", []))
