"""Runs that a controller leaves alone, in part or in whole, or starts again: the claims that rules make of them, at the real controllers.

As in test_gate_and_cluster each fault is an edit of a repository's runtime and a small run of it, and all start together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gate.evaluate import Evaluator
from lab import model
from tests.lab.conftest import Cluster
from tests.lab.live import Manifest, Namespace
from tests.lab.test_gate_and_cluster import IMAGE, REQUESTS, Fault, made, together
from tests.lab.test_roles import addresses, found, jobs, of_jobset, told

NEVER = "                restartPolicy: Never\n"
JOB = "            backoffLimit: 0\n"
SPEC = "spec:\n  runtimePatches:\n"
LIMITS = "      limits:\n        memory: 128Mi"
RESOURCES = f"    resourcesPerNode:\n{LIMITS}\n{REQUESTS}\n"
NUMBER = "      value: '2'\n    numNodes: 2\n"
CONTAINER = f"                  {IMAGE}\n                  name: node\n                  resources:\n"
GPU = '\n        nvidia.com/gpu: "1"'
ONCE = [("maxRestarts: 3", "maxRestarts: 0")]
TWICE = [("maxRestarts: 3", "maxRestarts: 1")]
ENDED_BY_RULE = [
    ("maxRestarts: 3", "maxRestarts: 1\n        rules: [{name: late, action: FailJobSet, onJobFailureReasons: [DeadlineExceeded]}]")
]
VOLCANO: dict[str, Any] = {"overlay": "no-ib-volcano", "run": {"queue": None}}
ELSEWHERE = "managedBy: kueue.x-k8s.io/multikueue"
POLICIES = {"torch": "PET_NNODES", "jax": "JAX_NUM_PROCESSES", "xgboost": "DMLC_NUM_WORKER", "mpi": ""}  # and a variable of each
pytestmark = pytest.mark.lab

FAULTS = {
    "on-the-node": Fault(
        rules={"jobset/worker-names"},
        given=ONCE,
        edits=[(NEVER, f"{NEVER}                hostNetwork: true\n")],
    ),
    "dns-of-the-node": Fault(
        rules={"jobset/worker-names"},
        edits=[(NEVER, f"{NEVER}                dnsPolicy: Default\n")],
    ),
    "worker": Fault(
        rules={"jobset/worker-names"},
        given=ONCE,
        edits=[
            (
                "      - name: node\n        template:\n          metadata:\n",
                "      - name: worker\n        template:\n          metadata:\n",
            ),
            ("          - name: node\n            template:\n", "          - name: worker\n            template:\n"),
        ],
    ),
    "job-deadline": Fault(
        rules={"jobset/deadline-ends-the-run"},
        given=TWICE,
        edits=[(JOB, f"{JOB}            activeDeadlineSeconds: 5\n")],
    ),
    "pod-deadline": Fault(
        rules={"jobset/deadline-ends-the-run"},
        given=ENDED_BY_RULE,
        edits=[(NEVER, f"{NEVER}                activeDeadlineSeconds: 5\n")],
    ),
    "rule-deadline": Fault(
        rules=set(),
        given=ENDED_BY_RULE,
        edits=[(JOB, f"{JOB}            activeDeadlineSeconds: 5\n")],
    ),
    "run-deadline": Fault(
        rules=set(),
        edits=[(SPEC, SPEC.replace("spec:\n", "spec:\n  activeDeadlineSeconds: 5\n"))],
    ),
    "no-policy": Fault(
        rules={"trainer/fields-used", "trainer/framework-label"},  # the SDK lists no runtime beside one without a policy
        given=[(REQUESTS, f"{REQUESTS}{GPU}"), (LIMITS, f"{LIMITS}{GPU}")],
        edits=[("  mlPolicy:\n    numNodes: 2\n", "")],
    ),
    "claims": Fault(
        rules={"trainer/fields-used"},
        edits=[(RESOURCES, RESOURCES.replace("Node:\n", "Node:\n      claims: [{name: gpus}]\n"))],
    ),
    "claims-of-the-runtime": Fault(
        rules={"trainer/fields-used"},
        given=[
            (CONTAINER, f"{CONTAINER}                    claims: [{{name: gpus}}]\n"),
            (NEVER, f"{NEVER}                resourceClaims: [{{name: gpus, resourceClaimTemplateName: gpus}}]\n"),
            (RESOURCES, ""),
        ],
        edits=[(NUMBER, f"{NUMBER}    resourcesPerNode: {{requests: {{cpu: 20m, memory: 128Mi}}}}\n")],
    ),
    "processes": Fault(
        rules={"trainer/fields-used"},
        edits=[(NUMBER, f"{NUMBER}    numProcPerNode: 4\n")],
    ),
    **{
        policy: Fault(
            rules={"trainer/no-framework-policy"},
            edits=[("  mlPolicy:\n", f"  mlPolicy:\n    {policy}: {{}}\n")],
            script="",
            **VOLCANO,
        )
        for policy in (*POLICIES, "flux")
    },
    "other-cluster": Fault(
        rules={"run/started"},
        edits=[(SPEC, SPEC.replace("spec:\n", f"spec:\n  {ELSEWHERE}\n"))],
        **VOLCANO,
    ),
    "no-multikueue": Fault(
        rules={"run/started"},
        edits=[(SPEC, SPEC.replace("spec:\n", f"spec:\n  {ELSEWHERE}\n"))],
    ),
    "other-jobset": Fault(
        rules={"run/started"},
        edits=[of_jobset(ELSEWHERE)],
    ),
    "held": Fault(
        rules={"run/started"},
        edits=[(SPEC, SPEC.replace("spec:\n", "spec:\n  suspend: true\n"))],
        **VOLCANO,
    ),
}
TWINS = ("no-policy", "claims-of-the-runtime", "processes")


@pytest.fixture(scope="module")
def runs(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Namespace]:
    """All faults, and the sound twins of those in TWINS, started together."""

    def objects(namespace: str) -> list[Manifest]:
        faults = [each for name, fault in FAULTS.items() for each in made(name, namespace, of=fault)]
        twins = [each for name in TWINS for each in made(name, namespace, sound=True, of=FAULTS[name])]
        return [*faults, *twins, *one_by_one(namespace)]

    with together(cluster, request, objects) as namespace:
        yield namespace


@pytest.mark.parametrize("name", FAULTS)
def test_the_gate_tells_the_fault_and_nothing_else(name: str, tmp_path: Path, opa: Evaluator) -> None:
    told(name, FAULTS[name], tmp_path, opa)


def test_the_gate_tells_that_a_jobset_starts_one_worker_of_two(tmp_path: Path, opa: Evaluator) -> None:
    sound = found(one_by_one("somewhere", sound=True), tmp_path / "sound.yaml", opa)
    assert found(one_by_one("somewhere"), tmp_path / "fault.yaml", opa) - sound == {"jobset/workers-at-once", "trainer/worker-count"}


def test_in_the_network_of_its_node_a_worker_has_the_nodes_name(runs: Namespace) -> None:
    runs.wait("the run ended", lambda: runs.ended("on-the-node") == "Failed")
    assert f"the hostname {model.NODE!r} is not JOB-node-0-INDEX: which worker is this?" in said(runs, "on-the-node")


def test_the_dns_of_the_node_knows_no_worker(runs: Namespace) -> None:
    runs.wait("what worker 1 says", lambda: "dns-of-the-node-node-0-0" in runs.logs("dns-of-the-node", 1))
    assert " is not in DNS. " in runs.logs("dns-of-the-node", 1)
    runs.wait("the cluster's knows both", lambda: len(addresses(runs, "dns-of-the-node")) == 2)


def test_a_worker_of_another_name_does_not_know_who_it_is(runs: Namespace) -> None:
    runs.wait("the run ended", lambda: runs.ended("worker") == "Failed")
    assert re.search(r"the hostname 'worker-worker-0-[01]' is not JOB-node-0-INDEX: which worker is this\?", said(runs, "worker"))


def test_without_parallelism_the_second_worker_of_a_jobset_starts_when_the_first_is_done(runs: Namespace) -> None:
    runs.wait("the first waits", lambda: "1 of 2 workers, waiting for index 1" in runs.logs("one-by-one"))
    runs.wait("both ended", lambda: runs.condition("jobset", "one-by-one", "Completed") is not None)
    first, second = ((status["startedAt"], status["finishedAt"]) for status in map(ended, runs.pods("one-by-one")))
    assert first[1] <= second[0]


@pytest.mark.parametrize(("name", "reason"), [("job-deadline", "DeadlineExceeded"), ("pod-deadline", "BackoffLimitExceeded")])
def test_a_deadline_of_a_job_or_a_pod_restarts_the_run(name: str, reason: str, runs: Namespace) -> None:
    runs.wait("the run restarted", lambda: jobset(runs, name).get("status", {}).get("restarts") == 1)
    runs.wait("the run ended", lambda: runs.ended(name) == "Failed")
    failed = runs.condition("jobset", name, "Failed")
    assert failed and failed["reason"] == "ReachedMaxRestarts"
    assert reasons(runs, name) == {reason}


def test_a_rule_for_that_reason_ends_the_run(runs: Namespace) -> None:
    runs.wait("the run ended", lambda: runs.ended("rule-deadline") == "Failed")
    failed = runs.condition("jobset", "rule-deadline", "Failed")
    assert failed and failed["reason"] == "FailJobSetFailurePolicyAction"
    assert runs.jobset("rule-deadline")["status"].get("restarts", 0) == 0
    assert reasons(runs, "rule-deadline") == {"DeadlineExceeded"}


def test_a_deadline_of_the_trainjob_ends_the_run(runs: Namespace) -> None:
    runs.wait("the run ended", lambda: runs.ended("run-deadline") == "Failed")
    failed = runs.condition("trainjob", "run-deadline", "Failed")
    assert failed and failed["reason"] == "DeadlineExceeded"
    runs.wait("its JobSet is gone", lambda: not runs.items("jobsets", "--field-selector=metadata.name=run-deadline"))


def test_without_a_policy_the_pods_ask_for_what_the_runtime_says(runs: Namespace) -> None:
    runs.wait("both JobSets", lambda: bool(jobset(runs, "no-policy") and jobset(runs, "no-policy-sound")))
    assert "nvidia.com/gpu" in container(runs, "no-policy-sound")["resources"]["limits"]
    assert "nvidia.com/gpu" not in str(container(runs, "no-policy")["resources"])


def test_trainer_drops_claims(runs: Namespace) -> None:
    names = ("claims", "claims-of-the-runtime", "claims-of-the-runtime-sound")
    runs.wait("all JobSets", lambda: all(jobset(runs, name) for name in names))
    assert runs.get("trainjob", "claims")["spec"]["trainer"]["resourcesPerNode"]["claims"] == [{"name": "gpus"}]
    assert ["claims" in container(runs, name)["resources"] for name in names] == [False, False, True]


def test_nothing_comes_of_the_number_of_processes(runs: Namespace) -> None:
    runs.wait("both JobSets", lambda: bool(jobset(runs, "processes") and jobset(runs, "processes-sound")))
    sound = json.loads(json.dumps(container(runs, "processes-sound")).replace("processes-sound", "processes"))
    assert container(runs, "processes") == sound


@pytest.mark.parametrize("name", POLICIES)
def test_another_frameworks_policy_adds_what_that_one_needs_and_the_workers_train(name: str, runs: Namespace) -> None:
    runs.complete(name)
    names = [each["name"] for each in container(runs, name)["env"]]
    assert POLICIES[name] in names or (name == "mpi" and "mpi-ssh-auth" in str(container(runs, name)["volumeMounts"]))
    assert "TF_CONFIG" not in names


def test_the_policy_of_flux_takes_the_command(runs: Namespace) -> None:
    runs.wait("the JobSet", lambda: bool(jobset(runs, "flux")))
    assert container(runs, "flux")["command"][:2] == ["/bin/bash", "/etc/flux-config/entrypoint.sh"]
    runs.kubectl("delete", "trainjob", "flux", "--wait=false")  # it would fetch an image that is not here


def test_a_run_of_another_manager_is_left_alone(runs: Namespace) -> None:
    runs.wait("Trainer has looked", lambda: skipped(runs, "other-cluster"))
    assert "conditions" not in runs.get("trainjob", "other-cluster").get("status", {})
    assert not jobset(runs, "other-cluster")
    assert runs.events("other-cluster") == []


def test_a_run_for_multikueue_holds_the_quota_of_another_queue(runs: Namespace) -> None:
    runs.wait("Kueue admits it", lambda: not runs.get("trainjob", "no-multikueue")["spec"]["suspend"])
    runs.wait("Trainer has looked", lambda: skipped(runs, "no-multikueue"))
    runs.wait("Jobs of others", lambda: bool(jobs(runs, "processes") and jobs(runs, "claims")))
    assert not jobset(runs, "no-multikueue")


def test_a_jobset_of_another_manager_is_left_alone(runs: Namespace) -> None:
    runs.wait("Kueue admits it", lambda: jobset(runs, "other-jobset").get("spec", {}).get("suspend") is False)
    runs.wait("Jobs of others", lambda: bool(jobs(runs, "processes") and jobs(runs, "claims")))
    assert jobs(runs, "other-jobset") == []
    assert runs.items("events", "--field-selector=involvedObject.name=other-jobset,involvedObject.kind=JobSet") == []
    assert "status" not in jobset(runs, "other-jobset")


def test_a_suspended_run_that_no_queue_has_stays_suspended(runs: Namespace) -> None:
    runs.wait("Trainer says so", lambda: runs.condition("trainjob", "held", "Suspended") is not None)
    runs.wait("JobSet says so", lambda: runs.condition("jobset", "held", "Suspended") is not None)
    assert runs.get("trainjob", "held")["spec"]["suspend"]
    assert runs.pods("held") == []


def one_by_one(namespace: str, *, sound: bool = False) -> list[Manifest]:
    """A JobSet of one's own for two workers, made of the repository's runtime, and its ConfigMap.

    Its workers end well where they do not find one another.
    """
    runtime, run, code = made("one-by-one", namespace, of=Fault(rules=set()))
    spec = runtime["spec"]["template"]["spec"]
    job = spec["replicatedJobs"][0]["template"]["spec"]
    job |= {"completions": 2, **({"parallelism": 2} if sound else {})}
    pod = job["template"]["spec"]
    pod["volumes"].append({"name": "code", "configMap": {"name": "one-by-one"}})
    pod["containers"][0]["volumeMounts"].append({"name": "code", "mountPath": "/workspace/code"})
    pod["containers"][0]["command"] = ["sh", "-c", "python3 /workspace/code/tfrun.py -- true || true"]
    pod["containers"][0]["env"] += [{"name": "TF_NUM_WORKERS", "value": "2"}, {"name": "TF_DISCOVERY_TIMEOUT", "value": "5"}]
    return [{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": run["metadata"], "spec": spec}, code]


def skipped(runs: Namespace, run: str) -> bool:
    """Whether Trainer says that it leaves the run to another controller."""
    log = runs.cluster.kubectl("logs", "--namespace=kubeflow-system", "deployment/kubeflow-trainer-controller-manager", "--tail=-1")
    lines = [line for line in log.splitlines() if f'"name":"{run}","namespace":"{runs.name}"' in line]
    return any("Skipping TrainJob managed by a custom controller" in line for line in lines)


def jobset(runs: Namespace, run: str) -> Manifest:
    """The run's JobSet; empty as long as there is none."""
    return next(iter(runs.items("jobsets", f"--field-selector=metadata.name={run}")), {})


def container(runs: Namespace, run: str) -> Manifest:
    """The container that trains, in the run's JobSet."""
    found: Manifest = runs.jobset(run)["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]
    return found


def said(runs: Namespace, run: str) -> str:
    """What both workers wrote: the first that fails stops the other, which may have begun or not."""
    return runs.logs(run, 0) + runs.logs(run, 1)


def ended(pod: Manifest) -> Manifest:
    """When its container was started and when it was done."""
    found: Manifest = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    return found


def reasons(runs: Namespace, run: str) -> set[str]:
    """Why the run's Jobs have failed."""
    conditions = [each for job in jobs(runs, run) for each in job["status"]["conditions"]]
    return {each["reason"] for each in conditions if each["type"] == "Failed"}
