"""The API server refuses what the rules refuse: the same objects, each created alone as a server-side dry run.

The policies are installed under other names and for marked objects only, so that a cluster in use goes on undisturbed.
"""

from __future__ import annotations

import copy
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from gate.evaluate import Evaluator
from gate.model import Manifest
from lab import system
from tests.admission import shared
from tests.conftest import ROOT
from tests.lab.conftest import Cluster

MARK = {"training.gitops/test": "admission"}
# What the API server says of one object: a policy's refusal, or that of a webhook, which comes after the policies.
REFUSAL = re.compile(r'"(?P<name>o\d+)" is forbidden: ValidatingAdmissionPolicy \S+ with binding \S+ denied request: (?P<message>.*)')
WEBHOOK = re.compile(r'admission webhook "(?:validator|vjobset|vtrainjob)\S+" denied the request')
pytestmark = pytest.mark.lab


@dataclass(frozen=True, kw_only=True, slots=True)
class Server:
    """Policies in a namespace of their own."""

    cluster: Cluster
    namespace: str
    folder: Path

    def apply(self, manifests: list[Manifest]) -> None:
        file = self.folder / "policies.yaml"
        file.write_text(yaml.safe_dump_all(manifests), encoding="utf-8")
        self.cluster.kubectl("apply", f"--filename={file}")

    def install(self, policies: list[Manifest], bindings: list[Manifest], **labels: str) -> None:
        """Installs policies for the namespace, which gets these labels; of cluster-scoped objects they judge marked ones."""
        clusterwide = {f"{self.namespace}-{each['metadata']['name']}" for each in policies if "clustertrainingruntimes" in str(each)}
        made = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace, "labels": {**MARK, **labels}}}]
        for manifest in copy.deepcopy([*policies, *bindings]):
            manifest["metadata"] |= {"name": f"{self.namespace}-{manifest['metadata']['name']}", "labels": MARK}
            if "policyName" in manifest["spec"]:
                manifest["spec"]["policyName"] = f"{self.namespace}-{manifest['spec']['policyName']}"
                if manifest["spec"]["policyName"] in clusterwide:
                    manifest["spec"]["matchResources"]["objectSelector"] = {"matchLabels": MARK}
                manifest["spec"]["matchResources"]["namespaceSelector"]["matchLabels"] |= MARK
            made.append(manifest)
        self.apply(made)

    def refusals(self, manifests: list[Manifest]) -> list[str]:
        """For each object the rule that a policy's refusal names, "" where the policies admit it."""
        made = copy.deepcopy(manifests)
        for number, manifest in enumerate(made):
            manifest["metadata"] |= {"name": f"o{number}", "labels": {**manifest["metadata"].get("labels", {}), **MARK}}
            if manifest["kind"] != "ClusterTrainingRuntime":
                manifest["metadata"]["namespace"] = self.namespace
        file = self.folder / "objects.yaml"
        file.write_text(yaml.safe_dump_all(made), encoding="utf-8")
        command = system.command(self.cluster.lab, "create", "--dry-run=server", f"--filename={file}")
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        found = [""] * len(made)
        for line in done.stderr.splitlines():
            if refusal := REFUSAL.search(line):
                found[int(refusal["name"][1:])] = shared.rule_of(refusal["message"])
            else:
                assert WEBHOOK.search(line), line
        return found


@pytest.fixture
def server(cluster: Cluster, tmp_path: Path) -> Iterator[Server]:
    made = Server(cluster=cluster, namespace="admission-test", folder=tmp_path)
    yield made
    kinds = "validatingadmissionpolicybindings,validatingadmissionpolicies,namespaces"
    cluster.kubectl("delete", kinds, "--selector=training.gitops/test=admission")


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
            f"{name}: refused by {rule or 'nothing'}, not by {rules}" for name, rule, rules in found if rule not in (rules or {""})
        ]
        return not differences

    server.install(*shared.policies_of_the_cases(), **{"training.gitops/runs": "true", "training.gitops/queue": "kueue"})
    try:
        server.cluster.wait("the same verdicts", alike, seconds=60)
    finally:
        assert differences == []


@pytest.mark.parametrize("name", sorted(path.parent.name for path in ROOT.glob("clusters/*/cluster.yaml")))
def test_every_run_is_admitted_and_a_privileged_one_is_not(name: str, server: Server) -> None:
    estate = shared.estate(name)
    taken = [shared.privileged(each) for each in estate if each["kind"] == "TrainJob"]
    server.install(*shared.policies(ROOT / "clusters" / name / "admission"), **{"training.gitops/runs": "true"})
    expected = ["" for _ in estate] + ["run/allowed-overrides" for _ in taken]
    server.cluster.wait("admitted and refused", lambda: server.refusals([*estate, *taken]) == expected, seconds=60)


def test_trainer_writes_its_snapshot_of_a_runtime_and_nobody_else_does(server: Server) -> None:
    (folder,) = (ROOT / "clusters" / "lab" / "runs").glob("reference-kueue")
    server.install(*shared.policies(ROOT / "clusters" / "lab" / "admission"), **{"training.gitops/runs": "true"})
    run = copy.deepcopy(next(each for each in shared.build(folder) if each["kind"] == "TrainJob"))
    snapshot = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"runtime": "{}"}}
    taken = {**snapshot, "metadata": {"name": f"{run['metadata']['name']}-runtime-snapshot", "namespace": server.namespace}}
    file = server.folder / "snapshot.yaml"
    file.write_text(yaml.safe_dump(taken), encoding="utf-8")
    command = system.command(server.cluster.lab, "create", "--dry-run=server", f"--filename={file}")

    def refused() -> bool:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        return "only Trainer writes the snapshot" in done.stderr

    server.cluster.wait("a forged snapshot is refused", refused, seconds=60)
    run["metadata"]["namespace"] = server.namespace
    run["spec"]["suspend"] = True
    server.apply([run])
    server.cluster.wait("Trainer's own", lambda: _exists(server, "configmap", taken["metadata"]["name"]), seconds=60)
    server.cluster.wait("the run's JobSet", lambda: _exists(server, "jobset", run["metadata"]["name"]), seconds=60)


def _exists(server: Server, kind: str, name: str) -> bool:
    return name in server.cluster.kubectl("get", kind, f"--namespace={server.namespace}", "--output=name")


def _patched_by_kueue(manifest: Manifest) -> bool:
    """Kueue's webhook adds its patch to every new TrainJob: one that has it already is no valid object."""
    return any(each["manager"] == "kueue.x-k8s.io/manager" for each in manifest["spec"].get("runtimePatches", []))
