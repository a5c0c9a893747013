"""What the gate says, against the real API server, webhooks and controllers: what it passes is accepted, what it refuses misbehaves.

Each fault is one edit of a repository's runtime and a small run of it. They are started together, since most of the time
of such a run is waiting; the gate judges the very manifests that are applied.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from gate import check, render
from gate.evaluate import Evaluator
from gate.model import Finding
from tests.conftest import ROOT
from tests.edit import edited
from tests.lab.conftest import Cluster, own
from tests.lab.live import JOBSET_NAME, Manifest, Namespace, surroundings, trainjob

TARGETS = [(target.path, None) for target in check.targets(ROOT, (), None)]
EXAMPLES = [(path, ROOT / "tests/rules/clusters" / path.name) for path in sorted((ROOT / "tests/rules/valid").glob("*.yaml"))]
RUNTIME = "ClusterTrainingRuntime"
ASKED = (RUNTIME, "PriorityClass", "ClusterRole", "ClusterRoleBinding")  # what Trainer's webhook asks of a TrainJob, and by what right
INDEX = "batch.kubernetes.io/job-completion-index"
pytestmark = pytest.mark.lab


# --- what the gate passes is accepted ---------------------------------------------------------------------------


@pytest.mark.parametrize(("path", "facts"), TARGETS + EXAMPLES, ids=lambda value: str(value.relative_to(ROOT)) if value else "")
def test_what_the_gate_passes_is_accepted(path: Path, facts: Path | None, cluster: Cluster, opa: Evaluator, empty: str) -> None:
    (target,) = check.targets(ROOT, [path], str(facts) if facts else None)
    assert check.check(ROOT, [target], evaluator=opa).status == 0
    objects = moved([resource.manifest for unit in target.units for resource in render.render(unit).resources], empty, path)
    asked = [each for each in objects if each["kind"] in ASKED]
    assert accepted(cluster, asked) == ""
    try:
        cluster.apply(namespace(empty), *asked)
        assert accepted(cluster, [each for each in objects if each["kind"] not in ASKED]) == ""
    finally:
        remove(cluster, asked)


@pytest.fixture(scope="module")
def empty(cluster: Cluster) -> Iterator[str]:
    """A namespace with nothing in it."""
    name = "test-accepted"
    cluster.kubectl("delete", "--ignore-not-found", "namespace", name)
    cluster.apply(namespace(name))
    yield name
    cluster.kubectl("delete", "--wait=false", "namespace", name)


def namespace(name: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def moved(objects: list[Manifest], namespace: str, path: Path) -> list[Manifest]:
    """The objects where they meet none that is there: in another namespace, or with a name that no other target's have."""
    prefix = f"test-{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    theirs = {(each["kind"], each["metadata"]["name"]) for each in objects}
    result: list[Manifest] = json.loads(json.dumps(objects))

    def follow(holder: Manifest, field: str, kind: str) -> None:
        if (kind, holder.get(field)) in theirs:
            holder[field] = f"{prefix}-{holder[field]}"

    for each in result:
        metadata = each["metadata"]
        if "namespace" in metadata:
            metadata["namespace"] = namespace
        else:
            metadata["name"] = f"{prefix}-{metadata['name']}"
        if each["kind"] == "TrainJob":
            follow(each["spec"]["runtimeRef"], "name", RUNTIME)
        if each["kind"] == RUNTIME:
            for job in each["spec"]["template"]["spec"]["replicatedJobs"]:
                follow(job["template"]["spec"]["template"]["spec"], "priorityClassName", "PriorityClass")
        if each["kind"] == "ClusterRoleBinding":
            follow(each["roleRef"], "name", "ClusterRole")
    return result


# --- what it refuses misbehaves ---------------------------------------------------------------------------------

HOLD = "import time\ntime.sleep(3600)\n"
WORKER_1_FAILS = 'import json, os, sys, time\nsys.exit(1) if json.loads(os.environ["TF_CONFIG"])["task"]["index"] else time.sleep(3600)\n'
FAILED = "{operator: NotIn, values: [0]}"
IMAGE = "image: nvcr.io/nvidia/tensorflow:24.03-tf2-py3"
LABEL = "kueue.x-k8s.io/queue-name: training"
CLOSED = "kueue.x-k8s.io/queue-name: closed"
UNLABELLED = "example.com/queue: closed"
QUEUE = "scheduling.volcano.sh/queue-name: training"
REQUESTS = "      requests:\n        cpu: 20m\n        memory: 128Mi"  # the TrainJob's, by their indentation
GPU_LIMIT = ("      limits:\n        memory: 128Mi", "      limits:\n        memory: 128Mi\n        nvidia.com/gpu: '1'")
NODE_EACH = {  # what the node can never hold: no two pods of a run on one node
    "topologyKey": "kubernetes.io/hostname",
    "labelSelector": {"matchExpressions": [{"key": INDEX, "operator": "Exists"}]},
    "matchLabelKeys": [JOBSET_NAME],
}
LONG = "a-name-of-49-characters-which-trainer-takes-00001"
APART = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [NODE_EACH]}}


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Edits that make one fault, and the rules that find it. `given`: edits of the sound run as well; `run`: see trainjob.

    `queue`: edits of a ClusterQueue and a LocalQueue of its own.
    """

    rules: set[str]
    edits: list[tuple[str, str]] = field(default_factory=list)
    given: list[tuple[str, str]] = field(default_factory=list)
    overlay: str = "no-ib-kueue"
    script: str = HOLD
    run: dict[str, Any] = field(default_factory=dict)
    queue: list[tuple[str, str]] | None = None


FAULTS = {
    "alone-again": Fault(
        rules={"jobset/backoff-limit-zero"},
        edits=[("backoffLimit: 0", "")],
        script=WORKER_1_FAILS,
    ),
    "ignored": Fault(
        rules={"jobset/backoff-limit-zero"},
        edits=[
            ("backoffLimit: 0", f"backoffLimit: 0\n{' ' * 12}podFailurePolicy: {{rules: [{{action: Ignore, onExitCodes: {FAILED}}}]}}"),
        ],
        script=WORKER_1_FAILS,
    ),
    "in-place": Fault(
        rules={"jobset/restart-policy-never"},
        edits=[("restartPolicy: Never", "")],
        script=WORKER_1_FAILS,
        run={"env": {"TF_DISCOVERY_TIMEOUT": "20"}},
    ),
    "not-in-dns": Fault(
        rules={"jobset/publish-not-ready-addresses"},
        edits=[("publishNotReadyAddresses: true", "publishNotReadyAddresses: false")],
        given=[(IMAGE, f"{IMAGE}\n                  readinessProbe: {{tcpSocket: {{port: 12345}}}}")],
        script="",
        run={"env": {"TF_DISCOVERY_TIMEOUT": "30"}},
    ),
    "no-names": Fault(
        rules={"jobset/dns-hostnames"},
        edits=[("publishNotReadyAddresses: true", "publishNotReadyAddresses: true\n        enableDNSHostnames: false")],
    ),
    "no-ancestor": Fault(
        rules={"trainer/ancestor-label"},
        edits=[("trainer.kubeflow.org/trainjob-ancestor-step: trainer", "trainer.kubeflow.org/ancestor-step: trainer")],
    ),
    "label-on-jobset": Fault(
        rules={"queue/kueue-label", "queue/kueue-label-place"},
        edits=[
            (CLOSED, UNLABELLED),
            ("  template:\n    spec:\n      failure", f"  template:\n    metadata:\n      labels: {{{CLOSED}}}\n    spec:\n      failure"),
        ],
        run={"queue": "closed"},
    ),
    "label-on-pods": Fault(
        rules={"queue/kueue-label", "queue/kueue-label-place"},
        edits=[
            (CLOSED, UNLABELLED),
            (
                f"template:\n{' ' * 14}spec:\n{' ' * 16}auto",
                f"template:\n{' ' * 14}metadata: {{labels: {{{CLOSED}}}}}\n{' ' * 14}spec:\n{' ' * 16}auto",
            ),
        ],
        run={"queue": "closed"},
    ),
    "no-label": Fault(
        rules={"queue/kueue-label"},
        edits=[(CLOSED, UNLABELLED)],
        run={"queue": "closed"},
    ),
    "no-scheduler": Fault(
        rules={"queue/volcano-scheduler-name"},
        edits=[("schedulerName: volcano", "")],
        overlay="no-ib-volcano",
        run={"queue": None, "pod": {"affinity": APART}},
    ),
    "no-limit": Fault(
        rules={"resources/extended-limits"},
        edits=[(REQUESTS, f'{REQUESTS}\n        nvidia.com/gpu: "1"')],
    ),
    "above-limit": Fault(
        rules={"resources/requests-below-limits"},
        edits=[(REQUESTS, REQUESTS.replace("128Mi", "256Mi"))],
    ),
    "no-volume": Fault(
        rules={"refs/volumes-declared"},
        edits=[("mountPath: /tmp\n                    name: scratch", "mountPath: /tmp\n                    name: scrach")],
    ),
    "no-container": Fault(
        rules={"trainer/runtime-patches"},
        edits=[("- name: node\n                      volumeMounts", "- name: worker\n                      volumeMounts")],
    ),
    "no-restart": Fault(
        rules={"jobset/restart-whole-gang"},
        edits=[("      failurePolicy:\n        maxRestarts: 3\n        restartStrategy: BlockingRecreate\n", "")],
        script=WORKER_1_FAILS,
    ),
    "restart-job": Fault(
        rules={"jobset/restart-whole-gang"},
        edits=[("maxRestarts: 3", "maxRestarts: 3\n        rules: [{name: again, action: RestartJob}]")],
    ),
    "restart-in-place": Fault(
        rules={"jobset/restart-whole-gang"},
        edits=[("BlockingRecreate", "InPlaceRestart"), ("backoffLimit: 0", "backoffLimit: 2147483647")],
    ),
    "no-priority": Fault(
        rules={"queue/workload-priority-class-exists"},
        edits=[(LABEL, f"{LABEL}\n    kueue.x-k8s.io/priority-class: urgnet")],
    ),
    "no-queue": Fault(
        rules={"queue/local-queue-exists"},
        edits=[(LABEL, "kueue.x-k8s.io/queue-name: trainning")],
    ),
    "over-quota": Fault(
        rules={"queue/within-quota"},
        edits=[
            (REQUESTS, REQUESTS.replace("128Mi", "5Gi")),
            ("      limits:\n        memory: 128Mi", "      limits:\n        memory: 5Gi"),
        ],
    ),
    "over-quota-by-limits": Fault(
        rules={"queue/within-quota"},
        edits=[GPU_LIMIT],
        run={"workers": 5},
    ),
    "not-covered-by-limits": Fault(
        rules={"queue/resources-covered"},
        edits=[GPU_LIMIT],
        queue=[
            ("    - nvidia.com/gpu\n", ""),
            ("      - name: nvidia.com/gpu\n        nominalQuota: '4'\n", ""),
        ],
    ),
    "no-cluster-queue": Fault(
        rules={"queue/cluster-queue-exists"},
        queue=[("clusterQueue: ", "clusterQueue: no-")],
    ),
    "not-selected": Fault(
        rules={"queue/namespace-selected"},
        queue=[("kubernetes.io/metadata.name:", "example.com/team:")],
    ),
    "not-covered": Fault(
        rules={"queue/resources-covered"},
        queue=[("    - memory\n", ""), ("      - name: memory\n        nominalQuota: 9Gi\n", "")],
    ),
    "over-capability": Fault(
        rules={"queue/volcano-capability"},
        edits=[
            (REQUESTS, REQUESTS.replace("128Mi", "5Gi")),
            ("      limits:\n        memory: 128Mi", "      limits:\n        memory: 5Gi"),
        ],
        overlay="no-ib-volcano",
        run={"queue": None},
    ),
    "over-capability-by-limits": Fault(
        rules={"queue/volcano-capability"},
        edits=[GPU_LIMIT],
        overlay="no-ib-volcano",
        run={"queue": None, "workers": 5},
    ),
    "name-too-long": Fault(
        rules={"jobset/name-fits"},
        edits=[("name: name-too-long\n  namespace", f"name: {LONG}\n  namespace")],
    ),
    "no-volcano-queue": Fault(
        rules={"queue/volcano-queue-exists"},
        edits=[(QUEUE, "scheduling.volcano.sh/queue-name: trainning")],
        overlay="no-ib-volcano",
        run={"queue": None},
    ),
    "read-by-nobody": Fault(
        rules={"queue/volcano-annotation"},
        edits=[
            ("    metadata:\n      annotations:\n        scheduling.volcano.sh/queue-name: training\n    spec:\n", "    spec:\n"),
            (
                "template:\n              spec:\n                auto",
                f"template:\n{' ' * 14}metadata: {{annotations: {{{QUEUE}}}}}\n{' ' * 14}spec:\n{' ' * 16}auto",
            ),
        ],
        overlay="no-ib-volcano",
        run={"queue": None},
    ),
    "as-label": Fault(
        rules={"queue/volcano-annotation"},
        edits=[("    metadata:\n      annotations:\n        scheduling", "    metadata:\n      labels:\n        scheduling")],
        overlay="no-ib-volcano",
        run={"queue": None},
    ),
    "no-pull-policy": Fault(
        rules={"schema/valid"},
        edits=[(IMAGE, f"{IMAGE}\n                  imagePullPolicy: Sometimes")],
    ),
    "no-operator": Fault(
        rules={"schema/valid"},
        edits=[("operator: Exists", "operator: Sometimes")],
        run={"pod": {"tolerations": [{"key": "example.com/maintenance", "operator": "Exists"}]}},
    ),
    "no-config-map": Fault(
        rules={"refs/objects-exist"},
        edits=[("configMap:\n                        name: no-", "configMap:\n                        name: a-")],
    ),
    "one-too-few": Fault(
        rules={"trainer/worker-count"},
        edits=[("name: TF_NUM_WORKERS\n      value: '2'", "name: TF_NUM_WORKERS\n      value: '3'")],
    ),
    "two-systems": Fault(
        rules={"queue/one-system"},
        edits=[("labels: {}", f"labels: {{{LABEL}}}")],
        overlay="no-ib-volcano",
        run={"queue": None, "pod": {"affinity": APART}},
    ),
}
TWINS = ("no-label", "no-scheduler", "not-in-dns")
REFUSED = {  # by a webhook: nothing to start
    "no-node": Fault(
        rules={"trainer/node-container", "trainer/runtime-patches"},  # the run's patch has nothing to patch either
        edits=[(f"{IMAGE}\n                  name: node", f"{IMAGE}\n                  name: tensorflow")],
    ),
    "no-runtime": Fault(
        rules={"trainer/runtime-exists"},
        edits=[("runtimeRef:\n    name: ", "runtimeRef:\n    name: no-")],
    ),
}
INACTIVE = {
    "queue/flavor-exists": ("FlavorNotFound", "flavors:\n    - name: ", "flavors:\n    - name: no-"),
    "queue/topology-exists": ("TopologyNotFound", "nodeLabels:", "topologyName: rakcs\n  nodeLabels:"),
    "queue/admission-check-exists": (
        "AdmissionCheckNotFound",
        "namespaceSelector:",
        "admissionChecksStrategy: {admissionChecks: [{name: chekc}]}\n  namespaceSelector:",
    ),
}
NOT_MADE = {
    "no-limit": "Limit must be set for non overcommitable resources",
    "above-limit": "must be less than or equal to memory limit",
    "no-volume": 'Not found: "scrach"',
    "no-container": "containers[0].image: Required value",
    "no-pull-policy": 'imagePullPolicy: Unsupported value: "Sometimes"',
    "no-operator": 'operator: Unsupported value: "Sometimes"',
    "restart-job": "RestartJobAndIgnoreMaxRestarts failure policy actions are not allowed when RestartJob feature gate is disabled",
    "restart-in-place": "restart strategy cannot be set when InPlaceRestart feature gate is disabled",
}
NOT_ADMITTED = {
    "no-queue": "LocalQueue trainning doesn't exist",
    "over-quota": "insufficient quota for memory in flavor lab",
    "over-quota-by-limits": "insufficient quota for nvidia.com/gpu in flavor lab",
    "no-cluster-queue": "-no-cluster-queue doesn't exist",
    "not-selected": "Workload namespace doesn't match ClusterQueue selector",
    "not-covered": "resource memory unavailable in ClusterQueue",
    "not-covered-by-limits": "resource nvidia.com/gpu unavailable in ClusterQueue",
}


def made(name: str, namespace: str, *, sound: bool = False, of: Fault | None = None) -> list[Manifest]:
    """The runtime, the TrainJob and the ConfigMap of a fault, or of its sound twin: of the repository's runtime, in the node's size."""
    fault = of or (FAULTS | REFUSED)[name]
    run = f"{name}-sound" if sound else name
    runtime: Manifest = json.loads(json.dumps(render.build(ROOT / "overlays" / fault.overlay / "runtime")[0]))
    runtime["metadata"]["name"] = f"{namespace}-{run}"
    pod = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod["containers"][0]["resources"] = {"requests": {"cpu": "20m", "memory": "128Mi"}, "limits": {"memory": "128Mi"}}
    pod["volumes"][0]["emptyDir"]["sizeLimit"] = "16Mi"
    pod["terminationGracePeriodSeconds"] = 5  # a signal in a container's first moments is lost: nothing handles it yet
    queues = queue(run, namespace) if fault.queue is not None else []
    given = {"queue": run} if queues else {}
    code, job = json.loads(json.dumps(trainjob(run, fault.script, runtime=f"{namespace}-{run}", gpus=0, **fault.run, **given)))
    del job["spec"]["trainer"]["resourcesPerNode"]["limits"]["cpu"]  # to start in no time
    for each in (code, job):
        each["metadata"]["namespace"] = namespace
    edits = [*fault.given, *([] if sound else [*fault.edits, *(fault.queue or [])])]
    text = edited(yaml.safe_dump_all([runtime, job, *queues]), [{"replace": old, "with": new} for old, new in edits])
    return [*yaml.safe_load_all(text), code]


@pytest.fixture(scope="module")
def runs(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Namespace]:
    """All faults, and the sound twins of those in TWINS, started together."""

    def objects(namespace: str) -> list[Manifest]:
        faults = [each for name in FAULTS for each in made(name, namespace)]
        return [*faults, *(each for name in TWINS for each in made(name, namespace, sound=True)), *closed_queue(namespace)]

    with together(cluster, request, objects) as namespace:
        yield namespace


@contextlib.contextmanager
def together(cluster: Cluster, request: pytest.FixtureRequest, objects: Callable[[str], list[Manifest]]) -> Iterator[Namespace]:
    """A namespace with the objects made for it: first what runs need, then the runs, which are started together."""
    gone: list[Manifest] = []
    try:
        with own(cluster, request) as namespace:
            everything = objects(namespace.name)
            gone += [each for each in everything if each["kind"] in (RUNTIME, "ClusterQueue", "LocalQueue")]
            others = [each for each in everything if each not in gone]
            cluster.apply(*gone)
            assert accepted(cluster, others) == ""
            cluster.apply(*others)
            yield namespace
    finally:
        remove(cluster, gone)  # after the runs, whose last updates ask for their runtimes


def queue(name: str, namespace: str) -> list[Manifest]:
    """A LocalQueue and its ClusterQueue."""
    _, cluster_queue, local_queue, *_ = surroundings(namespace)
    cluster_queue["metadata"]["name"] = local_queue["spec"]["clusterQueue"] = f"{namespace}-{name}"
    local_queue["metadata"]["name"] = name
    return [cluster_queue, local_queue]


def closed_queue(namespace: str) -> list[Manifest]:
    """The LocalQueue `closed`, from which nothing is ever admitted."""
    cluster_queue, local_queue = queue("closed", namespace)
    cluster_queue["spec"]["stopPolicy"] = "Hold"
    return [cluster_queue, local_queue]


@pytest.mark.parametrize("name", [*FAULTS, *REFUSED])
def test_the_gate_refuses_the_fault_and_nothing_else(name: str, tmp_path: Path, opa: Evaluator) -> None:
    assert errors(made(name, "somewhere", sound=True), tmp_path / "sound.yaml", opa) == set()
    assert errors(made(name, "somewhere"), tmp_path / "fault.yaml", opa) == (FAULTS | REFUSED)[name].rules


@pytest.mark.parametrize("name", ["alone-again", "ignored"])
def test_with_a_backoff_limit_the_job_replaces_one_worker_alone(name: str, runs: Namespace) -> None:
    runs.wait("a second pod of worker 1", lambda: len(workers(runs, name, 1)) > 1)
    (first,) = workers(runs, name, 0)
    assert first["status"]["phase"] == "Running"  # and holds what it has
    assert first["metadata"]["labels"]["jobset.sigs.k8s.io/restart-attempt"] == "0"
    assert runs.jobset(name)["status"]["restarts"] == 0


def test_without_restart_policy_the_kubelet_restarts_one_worker_in_place(runs: Namespace) -> None:
    runs.wait("one pod of worker 1 started twice", lambda: max(starts(runs, "in-place", 1), default=0) > 1)
    jobset = runs.jobset("in-place")
    assert jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["restartPolicy"] == "OnFailure"
    # Beside a backoffLimit of 0 the Job counts that restart and fails: what the kubelet has just started is stopped again.
    runs.wait("the gang restarts", lambda: runs.jobset("in-place")["status"]["restarts"] > 0)


def test_without_restarts_the_first_failure_is_the_last(runs: Namespace) -> None:
    runs.wait("the run ended", lambda: runs.ended("no-restart") == "Failed")
    assert runs.jobset("no-restart")["status"]["restarts"] == 0


def test_workers_that_are_ready_only_when_all_are_found_never_find_one_another(runs: Namespace) -> None:
    runs.complete("not-in-dns-sound")
    runs.wait("the first attempt given up", lambda: runs.jobset("not-in-dns")["status"]["restarts"] > 0)
    assert not any(
        condition["status"] == "True"
        for pod in runs.pods("not-in-dns")
        for condition in pod["status"]["conditions"]
        if condition["type"] == "Ready"
    )


def test_without_dns_hostnames_no_worker_has_a_name(runs: Namespace) -> None:
    runs.wait("the pods", lambda: len(runs.pods("no-names")) == 2)
    assert all("subdomain" not in pod["spec"] for pod in runs.pods("no-names"))
    assert runs.items("services", "--field-selector=metadata.name=no-names") == []
    runs.wait("what tfrun says", lambda: "own name" in runs.logs("no-names"))


def test_without_the_ancestor_label_nothing_of_the_trainjob_arrives(runs: Namespace) -> None:
    runs.wait("the pod", lambda: len(runs.pods("no-ancestor")) == 1)
    (container,) = runs.pods("no-ancestor")[0]["spec"]["containers"]
    assert "command" not in container
    assert "TF_NUM_WORKERS" not in [each["name"] for each in container["env"]]
    runs.complete("no-ancestor")  # without a command, the image's Python had nothing to do


def test_without_the_queue_label_a_run_starts_from_a_closed_queue(runs: Namespace) -> None:
    runs.wait("both pods run", lambda: runs.running("no-label") == 2)
    runs.wait("the Workload of the twin", lambda: ("TrainJob", "no-label-sound") in queued(runs))
    assert ("TrainJob", "no-label") not in queued(runs)
    assert runs.pods("no-label-sound") == []


def test_with_the_queue_label_on_the_jobset_kueue_stops_what_trainer_starts(runs: Namespace) -> None:
    runs.wait("pods in spite of the closed queue, three times", lambda: len(starts(runs, "label-on-jobset", 0)) > 2)
    assert ("JobSet", "label-on-jobset") in queued(runs)
    assert ("TrainJob", "label-on-jobset") not in queued(runs)
    runs.kubectl("delete", "trainjob", "label-on-jobset", "--wait=false")  # it would go on for ever


def test_with_the_queue_label_on_the_pods_each_pod_is_queued_alone(runs: Namespace) -> None:
    def alone() -> bool:
        pods = {("Pod", pod["metadata"]["name"]) for pod in runs.pods("label-on-pods")}
        return len(pods) == 2 and pods <= queued(runs)

    runs.wait("a Workload for each pod", alone)
    assert ("TrainJob", "label-on-pods") not in queued(runs)


def test_without_the_schedulers_name_a_gang_starts_one_by_one(runs: Namespace) -> None:
    runs.wait("one pod runs", lambda: runs.running("no-scheduler") == 1)
    runs.wait("Volcano has looked", lambda: any(each.startswith("Unschedulable") for each in runs.events("no-scheduler-sound")))
    assert runs.get("podgroup", "no-scheduler")["spec"]["minMember"] == 2
    assert runs.running("no-scheduler-sound") == 0
    assert runs.running("no-scheduler") == 1


@pytest.mark.parametrize("name", NOT_MADE)
def test_what_is_refused_later_makes_no_job(name: str, runs: Namespace) -> None:
    runs.wait("the reason", lambda: NOT_MADE[name] in _said(runs, name))
    assert runs.items("jobs", f"--selector={JOBSET_NAME}={name}") == []


@pytest.mark.parametrize("name", NOT_ADMITTED)
def test_what_the_queue_cannot_take_is_never_admitted(name: str, runs: Namespace) -> None:
    runs.wait("the reason", lambda: NOT_ADMITTED[name] in str([each.get("status") for each in runs.items("workloads")]))
    assert runs.get("trainjob", name)["spec"]["suspend"]
    assert runs.pods(name) == []


def test_without_its_priority_class_a_run_has_no_workload(runs: Namespace) -> None:
    runs.wait("later runs queued", lambda: {("TrainJob", "no-queue"), ("TrainJob", "over-quota")} <= queued(runs))
    assert ("TrainJob", "no-priority") not in queued(runs)
    assert runs.get("trainjob", "no-priority")["spec"]["suspend"]


def test_a_name_that_jobset_cannot_lengthen_is_accepted_and_never_made(runs: Namespace) -> None:
    runs.wait("JobSet refuses", lambda: "names generated for this JobSet will exceed 63" in str(runs.events(LONG)))
    assert runs.items("jobsets", f"--field-selector=metadata.name={LONG}") == []


def test_without_its_volcano_queue_no_gang_is_made(runs: Namespace) -> None:
    runs.wait("Volcano refuses", lambda: "unable to find queue" in str(runs.events("no-volcano-queue")))
    assert runs.items("podgroups", "--field-selector=metadata.name=no-volcano-queue") == []
    assert runs.running("no-volcano-queue") == 0


@pytest.mark.parametrize("name", ["read-by-nobody", "as-label"])
def test_a_queue_where_trainer_does_not_read_it_leaves_the_gang_in_the_queue_default(name: str, runs: Namespace) -> None:
    runs.wait("both pods run", lambda: runs.running(name) == 2)
    assert runs.get("podgroup", name)["spec"]["queue"] == "default"


def test_a_gang_above_the_capability_of_its_queue_is_never_enqueued(runs: Namespace) -> None:
    reason = "queue resource quota insufficient: insufficient memory"
    runs.wait("Volcano says why", lambda: reason in str(runs.events("over-capability")))
    assert runs.get("podgroup", "over-capability")["status"]["phase"] == "Pending"
    assert runs.running("over-capability") == 0


def test_a_gang_whose_limits_are_not_counted_is_enqueued_above_the_capability(runs: Namespace) -> None:
    name = "over-capability-by-limits"
    runs.wait("it has no place", lambda: "5/5 tasks in gang unschedulable" in str(runs.events(name)))
    runs.wait("it is enqueued", lambda: runs.get("podgroup", name)["status"]["phase"] == "Inqueue")
    assert "nvidia.com/gpu" not in runs.get("podgroup", name)["spec"]["minResources"]
    pods = runs.pods(name)
    assert {pod["status"]["phase"] for pod in pods} == {"Pending"}
    assert [pod["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] for pod in pods] == ["1"] * 5


def test_without_their_config_map_the_containers_are_never_made(runs: Namespace) -> None:
    runs.wait("the pods", lambda: len(runs.pods("no-config-map")) == 2)
    (name, _) = (pod["metadata"]["name"] for pod in runs.pods("no-config-map"))
    runs.wait("the reason", lambda: 'configmap "a-config-map" not found' in str(runs.events(name)))
    assert {pod["status"]["phase"] for pod in runs.pods("no-config-map")} == {"Pending"}


def test_with_a_number_above_the_workers_all_wait_for_one_that_never_comes(runs: Namespace) -> None:
    runs.wait("all wait", lambda: all("waiting for index 2" in runs.logs("one-too-few", index) for index in (0, 1)))
    assert len(runs.pods("one-too-few")) == 2


def test_a_worker_is_told_its_index_and_no_rank(runs: Namespace) -> None:
    runs.wait("the pods", lambda: len(runs.pods("one-too-few")) == 2)
    names = {each["name"] for each in runs.pods("one-too-few")[0]["spec"]["containers"][0]["env"]}
    assert "JOB_COMPLETION_INDEX" in names
    assert not [name for name in names if re.match(r"((LOCAL_|NODE_)?RANK|(LOCAL_)?WORLD_SIZE)$|(PET|OMPI|PMI|SLURM)_", name)]


def test_with_two_systems_one_gives_quota_to_what_the_other_holds(runs: Namespace) -> None:
    runs.wait("Volcano has looked", lambda: any(each.startswith("Unschedulable") for each in runs.events("two-systems")))
    (workload,) = runs.workloads("two-systems")
    assert {"type": "Admitted", "status": "True"}.items() <= workload["status"]["conditions"][-1].items()
    assert runs.running("two-systems") == 0


def _said(runs: Namespace, name: str) -> str:
    """What JobSet says of one: its event keeps the words of the first failure, which may be another, so its log counts too."""
    log = runs.cluster.kubectl("logs", "--namespace=jobset-system", "deployment/jobset-controller-manager", "--tail=-1")
    lines = [line for line in log.splitlines() if f'"{name}"' in line and runs.name in line]
    return "\n".join([*runs.events(name), *lines]).replace('\\"', '"')


def queued(runs: Namespace) -> set[tuple[str, str]]:
    """Kind and name of everything that has a Workload."""
    owners = [each["metadata"]["ownerReferences"][0] for each in runs.items("workloads")]
    return {(owner["kind"], owner["name"]) for owner in owners}


def workers(runs: Namespace, run: str, index: int) -> list[Manifest]:
    return [pod for pod in runs.pods(run) if pod["metadata"]["labels"][INDEX] == str(index)]


def starts(runs: Namespace, run: str, index: int) -> list[int]:
    """How often the container of each pod of a worker has been started."""
    name = f"{run}-node-0-{index}-"
    counts: Counter[str] = Counter()
    for event in runs.items("events", "--field-selector=reason=Started"):
        counts[event["involvedObject"]["name"]] += event.get("count", 1)
    return [count for pod, count in counts.items() if pod.startswith(name)]


@pytest.mark.parametrize("rule", INACTIVE)
def test_a_queue_that_names_what_is_missing_is_inactive(rule: str, cluster: Cluster, tmp_path: Path, opa: Evaluator) -> None:
    reason, old, new = INACTIVE[rule]
    sound, fault = (spare_queue(f"test-{rule.replace('/', '-')}{end}") for end in ("-sound", ""))
    fault = list(yaml.safe_load_all(edited(yaml.safe_dump_all(fault), [{"replace": old, "with": new}])))
    assert errors(sound, tmp_path / "sound.yaml", opa) == set()
    assert errors(fault, tmp_path / "fault.yaml", opa) == {rule}
    try:
        cluster.apply(*sound, *fault)
        cluster.wait("the sound queue is active", lambda: activity(cluster, sound[1]) == "Ready")
        cluster.wait("the other one is not", lambda: activity(cluster, fault[1]) == reason)
    finally:
        remove(cluster, [*sound, *fault])


def spare_queue(name: str) -> list[Manifest]:
    """A ResourceFlavor and a ClusterQueue of it."""
    flavor = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ResourceFlavor",
        "metadata": {"name": name},
        "spec": {"nodeLabels": {"example.com/pool": "none"}},
    }
    queue = surroundings(name)[1]
    queue["spec"]["resourceGroups"][0]["flavors"][0]["name"] = name
    return [flavor, queue]


def activity(cluster: Cluster, queue: Manifest) -> str:
    """Why a ClusterQueue is active, or is not."""
    conditions = cluster.get("clusterqueue", queue["metadata"]["name"]).get("status", {}).get("conditions", [])
    return next((str(each["reason"]) for each in conditions if each["type"] == "Active"), "")


def test_a_runtime_without_the_container_node_is_refused(cluster: Cluster) -> None:
    assert refusal(cluster, made("no-node", "test", sound=True)[:1]) == ""
    assert "must contain the required container for the ancestor: trainer" in refusal(cluster, made("no-node", "test")[:1])


def test_a_run_without_its_runtime_is_refused(runs: Namespace) -> None:
    (job,) = (each for each in made("no-runtime", runs.name) if each["kind"] == "TrainJob")
    name = f"no-{runs.name}-no-runtime"

    def by_kueue() -> bool:
        said = refusal(runs.cluster, [job])
        assert name in said and "not found" in said
        return f"runtime '{name}' not found" in said

    runs.wait("Kueue's words", by_kueue)  # it is asked beside Trainer, and the API server passes on who answers first


def errors(objects: list[Manifest], file: Path, opa: Evaluator, severity: str = "error") -> set[str]:
    """The rules that refuse these objects in the lab's cluster, or only warn of them."""
    said = findings([*surroundings("somewhere"), *closed_queue("somewhere"), *objects], file, opa)
    return {finding.rule for finding in said if finding.severity == severity}


def findings(objects: list[Manifest], file: Path, opa: Evaluator, facts: Path = ROOT / "clusters" / "lab") -> Sequence[Finding]:
    """What the gate says of these objects, written to a file, in a cluster; the gate reads each file once."""
    file.write_text(yaml.safe_dump_all(objects), encoding="utf-8")
    outcome = check.check(file.parent, check.targets(file.parent, [file], str(facts)), evaluator=opa)
    assert outcome.problems == []
    return outcome.findings


def accepted(cluster: Cluster, objects: list[Manifest]) -> str:
    """Nothing, or what the API server or a webhook says against making these objects."""
    said = ""

    def answered() -> bool:
        nonlocal said
        said = refusal(cluster, objects) if objects else ""
        # the webhooks of Trainer and Kueue learn of a runtime, and of a right that they have, a moment after it is made
        return "not found" not in said and "deadline exceeded" not in said

    cluster.wait("the webhooks know the runtimes", answered, seconds=60)
    return said


def refusal(cluster: Cluster, objects: list[Manifest]) -> str:
    try:
        cluster.kubectl("create", "--dry-run=server", "--output=name", "--filename=-", given=yaml.safe_dump_all(objects))
    except subprocess.CalledProcessError as error:
        return str(error.stderr)
    return ""


def remove(cluster: Cluster, objects: list[Manifest]) -> None:
    if objects:
        cluster.kubectl("delete", "--ignore-not-found", "--wait=false", "--filename=-", given=yaml.safe_dump_all(objects))
