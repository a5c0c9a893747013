"""NetworkPolicies of runs, enforced: the lab's own network lets everything through, so kube-router stands beside it meanwhile."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from gate.evaluate import Evaluator
from lab import model, space
from tests.conftest import ROOT
from tests.lab import programs
from tests.lab.conftest import Cluster, running
from tests.lab.live import JOBSET_NAME, Manifest, Namespace, surroundings
from tests.lab.test_gate_and_cluster import Fault, findings, made, together

pytestmark = [pytest.mark.lab, pytest.mark.long]  # building kube-router takes minutes
RULE = "network/workers-reach-one-another"
FROZEN = ROOT / "clusters/lab/runs/reference-kueue/networkpolicy.yaml"  # as `gate new run` writes it
# As NCCL: after the agreement, a port that nobody has named.
SCRIPT = """
import json, os, socket, time
names = [each.partition(":")[0] for each in json.loads(os.environ["TF_CONFIG"])["cluster"]["worker"]]
server = socket.create_server(("", 40000))
server.settimeout(60)
try:
    for name in names:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                socket.create_connection((name, 40000), timeout=10).close()
                break
            except OSError:  # not there yet; or dropped, which is a time-out, or refused by the network
                time.sleep(0.5)
        else:
            raise TimeoutError
    for _ in names:
        server.accept()
except TimeoutError:
    print("somebody is not reached", flush=True)
    time.sleep(3600)
print("all are reached")
"""
# Containers that need it are not made, but their pods have addresses: what the first attempt may send is settled before it begins.
START = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "start"}, "data": {"start": "now"}}
WAITS = {"name": "START", "valueFrom": {"configMapKeyRef": {"name": "start", "key": "start"}}}


@pytest.fixture(scope="module")
def enforced(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], str]]:
    """The lab with a network that keeps NetworkPolicies; gives its rules. What kube-router writes into the kernel goes with it."""
    if not shutil.which("ipset"):
        pytest.fail("kube-router needs ipset: apt-get install --no-install-recommends ipset")
    within = ["nsenter", f"--net=/proc/{space.first_process(cluster.lab)}/ns/net"]
    bridged = subprocess.run([*within, "cat", "/proc/sys/net/bridge/bridge-nf-call-iptables"], capture_output=True, text=True, check=False)
    if bridged.stdout.strip() != "1":
        pytest.fail("pods share one bridge, whose packets iptables does not see here: modprobe br_netfilter")
    options = ["--run-firewall", "--run-router=false", "--run-service-proxy=false", "--enable-cni=false", "--health-port=0"]
    command = [*within, programs.binary("kube-router"), *options, f"--kubeconfig={cluster.lab.kubeconfig}"]
    command += [f"--hostname-override={model.NODE}", f"--service-cluster-ip-range={model.SERVICES}"]

    def rules() -> str:
        return subprocess.run([*within, "iptables-save", "-t", "filter"], capture_output=True, text=True, check=True).stdout

    before = rules()
    try:
        with running(command, tmp_path_factory.mktemp("kube-router") / "log"):
            yield rules
    finally:
        subprocess.run([*within, "iptables-restore", "-T", "filter"], input=before, text=True, check=True)
        subprocess.run([*within, "ipset", "destroy"], check=True)


def as_written(spec: Manifest) -> None:
    pass


def of_the_run_before(spec: Manifest) -> None:
    for peer in (spec["ingress"][0]["from"][0], spec["egress"][0]["to"][0]):
        peer["podSelector"]["matchLabels"][JOBSET_NAME] = "the-run-before"


def some_ports(spec: Manifest) -> None:
    for rule in (spec["ingress"][0], spec["egress"][0]):
        rule["ports"] = [{"port": 12345, "protocol": "TCP"}, {"port": 12346, "protocol": "TCP"}]  # TensorFlow's and tfrun's


def no_dns(spec: Manifest) -> None:
    del spec["egress"][1]


POLICIES = {change.__name__.replace("_", "-"): change for change in (as_written, of_the_run_before, some_ports, no_dns)}


def with_policy(name: str, namespace: str) -> list[Manifest]:
    """A small run and its policy."""
    policy: Manifest = yaml.safe_load(FROZEN.read_text(encoding="utf-8").replace("reference-kueue", name))
    policy["metadata"]["namespace"] = namespace
    POLICIES[name](policy["spec"])
    run = Fault(rules=set(), script=SCRIPT, run={"env": {"TF_DISCOVERY_TIMEOUT": "60"}})
    objects = made(name, namespace, of=run)
    (job,) = (each for each in objects if each["kind"] == "TrainJob")
    job["spec"]["trainer"]["env"].append(WAITS)
    return [policy, *objects]


@pytest.fixture(scope="module")
def runs(enforced: Callable[[], str], cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Namespace]:
    """One run for each policy, all started together."""
    with together(cluster, request, lambda name: [each for policy in POLICIES for each in with_policy(policy, name)]) as namespace:

        def settled() -> bool:
            addresses = {f"{pod['status'].get('podIP')}/32" for name in POLICIES for pod in namespace.pods(name)}
            return len(addresses) == 2 * len(POLICIES) and addresses <= set(enforced().split())

        namespace.wait("rules for every pod", settled)
        namespace.apply(START)
        yield namespace


@pytest.mark.parametrize("name", POLICIES)
def test_the_gate_finds_what_a_policy_drops(name: str, tmp_path: Path, opa: Evaluator) -> None:
    start = {**START, "metadata": {"name": "start", "namespace": "somewhere"}}
    said = findings([*surroundings("somewhere"), start, *with_policy(name, "somewhere")], tmp_path / "run.yaml", opa)
    found = {finding.rule for finding in said if finding.severity == "error" or finding.rule == RULE}
    assert found == (set() if name == "as-written" else {RULE})


def test_with_the_policy_of_gate_new_the_workers_reach_one_another(runs: Namespace) -> None:
    runs.complete("as-written")


@pytest.mark.parametrize("name", ["of-the-run-before", "no-dns"])
def test_workers_that_a_policy_keeps_apart_wait_until_they_give_up(name: str, runs: Namespace) -> None:
    runs.wait("the first attempt given up", lambda: runs.jobset(name)["status"]["restarts"] > 0)


def test_with_some_ports_alone_they_start_and_never_reach_one_another(runs: Namespace) -> None:
    runs.wait("what the script says", lambda: "somebody is not reached" in runs.logs("some-ports"), 300)
    assert "starting worker 0 of 2" in runs.logs("some-ports")  # with GPUs they would hold them
