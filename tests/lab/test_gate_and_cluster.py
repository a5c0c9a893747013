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
from tests.lab.conftest import Cluster, own, present
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
REQUESTS = "      requests:\n        cpu: 10m\n        memory: 128Mi"  # the TrainJob's, by their indentation
GPU_LIMIT = ("      limits:\n        memory: 128Mi", "      limits:\n        memory: 128Mi\n        nvidia.com/gpu: '1'")
NODE_EACH = {  # what the node can never hold: no two pods of a run on one node
    "topologyKey": "kubernetes.io/hostname",
    "labelSelector": {"matchExpressions": [{"key": INDEX, "operator": "Exists"}]},
    "matchLabelKeys": [JOBSET_NAME],
}
ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step: trainer"
OTHER = """\
      - name: other
        template:
          spec:
            backoffLimit: 0
            template:
              spec:
                containers:
                - {name: other, image: "nvcr.io/nvidia/tensorflow:24.03-tf2-py3", command: [sleep, "1"]}
                restartPolicy: Never
"""
LONG = "a-name-of-49-characters-which-trainer-takes-00001"
APART = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [NODE_EACH]}}


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Edits that make one fault, and the rules that find it. `given`: edits of the sound run as well; `run`: see trainjob.

    `queue`: edits of a ClusterQueue and a LocalQueue of its own.
    """

    rules: set[str]
    severity: str = "error"
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
    "alone-per-index": Fault(
        rules={"jobset/backoff-limit-zero"},
        edits=[(f"backoffLimit: 0\n{' ' * 12}backoffLimitPerIndex", "backoffLimitPerIndex")],
        given=[("backoffLimit: 0", f"backoffLimit: 0\n{' ' * 12}backoffLimitPerIndex: 2"), ("maxRestarts: 3", "maxRestarts: 1")],
        script=WORKER_1_FAILS,
    ),
    "index-alone": Fault(
        rules={"jobset/backoff-limit-zero"},
        severity="warning",
        edits=[("backoffLimit: 0", "backoffLimitPerIndex: 0")],
        script=WORKER_1_FAILS,
    ),
    "in-place-container": Fault(
        rules={"jobset/restart-policy-never"},
        edits=[(IMAGE, f"{IMAGE}\n                  restartPolicy: OnFailure")],
        script=WORKER_1_FAILS,
    ),
    "in-place-rule": Fault(
        rules={"jobset/restart-policy-never"},
        edits=[
            (
                IMAGE,
                f"{IMAGE}\n                  restartPolicy: Never\n"
                f"                  restartPolicyRules: [{{action: Restart, exitCodes: {FAILED}}}]",
            ),
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
    "no-index": Fault(
        rules={"jobset/dns-hostnames"},
        edits=[("backoffLimit: 0", f"backoffLimit: 0\n{' ' * 12}completionMode: NonIndexed")],
        given=[("maxRestarts: 3", "maxRestarts: 0")],
    ),
    "no-ancestor": Fault(
        rules={"trainer/ancestor-label"},
        edits=[("trainer.kubeflow.org/trainjob-ancestor-step: trainer", "trainer.kubeflow.org/ancestor-step: trainer")],
    ),
    "ancestor-on-pods": Fault(
        rules={"trainer/ancestor-label"},
        edits=[
            ("          metadata:\n            labels:\n              trainer.kubeflow.org/trainjob-ancestor-step: trainer\n", ""),
            (
                "template:\n              spec:\n                auto",
                f"template:\n{' ' * 14}metadata: {{labels: {{{ANCESTOR}}}}}\n{' ' * 14}spec:\n{' ' * 16}auto",
            ),
        ],
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
    "label-on-jobs": Fault(
        rules={"queue/kueue-label", "queue/kueue-label-place"},
        edits=[(CLOSED, UNLABELLED), (f"              {ANCESTOR}", f"              {ANCESTOR}\n              {CLOSED}")],
        run={"queue": "closed"},
    ),
    "label-by-patch": Fault(
        rules={"queue/kueue-label", "queue/kueue-label-place"},
        edits=[
            (CLOSED, UNLABELLED),
            (
                "    trainingRuntimeSpec:\n      template:\n",
                f"    trainingRuntimeSpec:\n      template:\n        metadata: {{labels: {{{CLOSED}}}}}\n",
            ),
        ],
        run={"queue": "closed"},
    ),
    "as-annotation": Fault(
        rules={"queue/kueue-label", "queue/kueue-label-place"},
        edits=[(f"  labels:\n    {CLOSED}", f"  annotations:\n    {CLOSED}")],
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
    "nobodys-scheduler": Fault(
        rules={"queue/volcano-scheduler-name"},
        edits=[("schedulerName: volcano", "schedulerName: volcanno")],
        overlay="no-ib-volcano",
        run={"queue": None},
    ),
    "no-policy": Fault(
        rules={"queue/volcano-scheduler-name"},
        edits=[("  podGroupPolicy:\n    volcano: {}\n", "")],
        overlay="no-ib-volcano",
        run={"queue": None, "pod": {"affinity": APART}},
    ),
    "no-limit": Fault(
        rules={"resources/extended-limits"},
        edits=[(REQUESTS, f'{REQUESTS}\n        nvidia.com/gpu: "1"')],
    ),
    "not-the-limit": Fault(
        rules={"resources/extended-limits"},
        edits=[(REQUESTS, f'{REQUESTS}\n        nvidia.com/gpu: "0"'), GPU_LIMIT],
    ),
    "half-a-device": Fault(
        rules={"resources/extended-limits"},
        edits=[(GPU_LIMIT[0], GPU_LIMIT[1].replace("'1'", "500m"))],
    ),
    "huge-pages": Fault(
        rules={"resources/extended-limits"},
        edits=[(REQUESTS, f"{REQUESTS}\n        hugepages-2Mi: 2Mi")],
        queue=[
            ("    - memory\n", "    - hugepages-2Mi\n    - memory\n"),
            ("      - name: memory\n", "      - name: hugepages-2Mi\n        nominalQuota: 9Gi\n      - name: memory\n"),
        ],
    ),
    "above-cpu-limit": Fault(
        rules={"resources/requests-below-limits"},
        edits=[("      limits:\n        memory: 128Mi", "      limits:\n        cpu: 5m\n        memory: 128Mi")],
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
    "no-image": Fault(
        rules={"images/pinned"},
        edits=[(IMAGE, "imagePullPolicy: IfNotPresent")],
    ),
    "placeholder": Fault(
        rules={"images/pinned"},
        edits=[(IMAGE, "image: registry.example/team/PLACEHOLDER")],
        run={"workers": 1},
    ),
    "no-job": Fault(
        rules={"trainer/runtime-patches"},
        edits=[("          replicatedJobs:\n          - name: node", "          replicatedJobs:\n          - name: worker")],
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
    "restart-one-job": Fault(
        rules={"jobset/restart-whole-gang"},
        edits=[
            (
                "maxRestarts: 3",
                "maxRestarts: 3\n        rules: [{name: again, action: RestartJobAndIgnoreMaxRestarts, targetReplicatedJobs: [other]}]",
            ),
        ],
        given=[("      replicatedJobs:\n      - name: node", f"      replicatedJobs:\n{OTHER}\n      - name: node")],
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
    "no-selector": Fault(
        rules={"queue/namespace-selected"},
        queue=[("  namespaceSelector:\n    matchLabels:\n      kubernetes.io/metadata.name:", "  #")],
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
    "read-by-nobody-else": Fault(
        rules={"queue/volcano-annotation"},
        edits=[
            ("    metadata:\n      annotations:\n        scheduling.volcano.sh/queue-name: training\n    spec:\n", "    spec:\n"),
            ("  annotations:\n    argocd", f"  annotations:\n    {QUEUE}\n    argocd"),
            (
                f"          metadata:\n            labels:\n              {ANCESTOR}",
                f"          metadata:\n            annotations: {{{QUEUE}}}\n            labels:\n              {ANCESTOR}",
            ),
            ("labels: {}", f"annotations: {{{QUEUE}}}"),
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
    "no-secret": Fault(
        rules={"refs/objects-exist"},
        edits=[("emptyDir:\n                    sizeLimit: 10Gi", "secret: {secretName: a-secret}")],
        run={"workers": 1},
    ),
    "no-key": Fault(
        rules={"refs/objects-exist"},
        edits=[("configMap:\n                        name: no-key", "configMap: {name: no-key, items: [{key: tfrn.py, path: tfrun.py}]}")],
        run={"workers": 1},
    ),
    "no-claim": Fault(
        rules={"refs/objects-exist"},
        edits=[("claimName: checkpoints", "claimName: checkpoint")],
        run={"workers": 1},
    ),
    "no-account": Fault(
        rules={"refs/objects-exist"},
        edits=[("restartPolicy: Never", "restartPolicy: Never\n                serviceAccountName: nobody")],
        run={"workers": 1},
    ),
    "no-pull-secret": Fault(
        rules={"refs/objects-exist"},
        severity="warning",
        edits=[("restartPolicy: Never", "restartPolicy: Never\n                imagePullSecrets: [{name: registry}]")],
        script="",
        run={"workers": 1},
    ),
    "one-too-many": Fault(
        rules={"trainer/worker-count"},
        edits=[("name: TF_NUM_WORKERS\n      value: '2'", "name: TF_NUM_WORKERS\n      value: '1'"), ("maxRestarts: 3", "maxRestarts: 0")],
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
PAUSED = {  # and started again without end: each starts when it is looked at, with what Kueue queues of it
    "label-on-jobset": ("JobSet", "label-on-jobset"),
    "label-by-patch": ("JobSet", "label-by-patch"),
    "label-on-jobs": ("Job", "label-on-jobs-node-0"),
}
TWINS = ("no-label", "no-scheduler", "not-in-dns", "alone-per-index")
REFUSED = {  # by a webhook: nothing to start
    "no-node": Fault(
        rules={"trainer/node-container", "trainer/runtime-patches"},  # the run's patch has nothing to patch either
        edits=[(f"{IMAGE}\n                  name: node", f"{IMAGE}\n                  name: tensorflow")],
    ),
    "patched-env": Fault(
        rules={"trainer/runtime-patches"},
        edits=[
            (
                "- name: node\n                      volumeMounts",
                "- name: node\n                      env: [{name: A, value: b}]\n                      volumeMounts",
            )
        ],
    ),
    "empty-queue": Fault(
        rules={"queue/volcano-annotation"},
        edits=[(QUEUE, "scheduling.volcano.sh/queue-name: ''")],
        overlay="no-ib-volcano",
        run={"queue": None},
    ),
    "two-replicas": Fault(
        rules={"trainer/ancestor-label"},
        edits=[
            (
                "      - name: node\n        template:\n          metadata",
                "      - name: node\n        replicas: 2\n        template:\n          metadata",
            )
        ],
    ),
    "empty-label": Fault(
        rules={"queue/kueue-label"},
        edits=[(LABEL, "kueue.x-k8s.io/queue-name: ''")],
    ),
    "no-runtime": Fault(
        rules={"trainer/runtime-exists"},
        edits=[("runtimeRef:\n    name: ", "runtimeRef:\n    name: no-")],
    ),
}
SOUND = {
    str((each.overlay, each.script, each.run, each.given, each.queue is None)): name for name, each in (FAULTS | REFUSED).items()
}.values()
AROUND = {"queue/quota-has-nodes"}  # a warning of every namespace of these tests
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
    "not-the-limit": "must be equal to nvidia.com/gpu limit",
    "half-a-device": "must be an integer",
    "huge-pages": "Limit must be set for non overcommitable resources",
    "above-limit": "must be less than or equal to memory limit",
    "above-cpu-limit": "must be less than or equal to cpu limit",
    "no-image": "containers[0].image: Required value",
    "no-volume": 'Not found: "scrach"',
    "no-container": "containers[0].image: Required value",
    "no-pull-policy": 'imagePullPolicy: Unsupported value: "Sometimes"',
    "no-operator": 'operator: Unsupported value: "Sometimes"',
    "restart-job": "RestartJobAndIgnoreMaxRestarts failure policy actions are not allowed when RestartJob feature gate is disabled",
    "restart-one-job": "RestartJobAndIgnoreMaxRestarts failure policy actions are not allowed when RestartJob feature gate is disabled",
    "restart-in-place": "restart strategy cannot be set when InPlaceRestart feature gate is disabled",
}
NOT_ADMITTED = {
    "no-queue": "LocalQueue trainning doesn't exist",
    "over-quota": "insufficient quota for memory in flavor lab",
    "over-quota-by-limits": "insufficient quota for nvidia.com/gpu in flavor lab",
    "no-cluster-queue": "-no-cluster-queue doesn't exist",
    "no-selector": "Workload namespace doesn't match ClusterQueue selector",
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
    pod["containers"][0]["resources"] = {"requests": {"cpu": "10m", "memory": "128Mi"}, "limits": {"memory": "128Mi"}}
    pod["volumes"][0]["emptyDir"]["sizeLimit"] = "16Mi"
    pod["terminationGracePeriodSeconds"] = 5  # a signal in a container's first moments is lost: nothing handles it yet
    queues = queue(run, namespace) if fault.queue is not None else []
    given = {"queue": run} if queues else {}
    code, job = json.loads(json.dumps(trainjob(run, fault.script, runtime=f"{namespace}-{run}", gpus=0, **fault.run, **given)))
    resources = job["spec"]["trainer"]["resourcesPerNode"]
    resources["requests"]["cpu"] = "10m"  # all faults share the node
    del resources["limits"]["cpu"]  # to start in no time
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
        faults = [each for each in faults if each["kind"] != "TrainJob" or each["metadata"]["name"] not in PAUSED]
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


@pytest.mark.parametrize("name", SOUND)
def test_the_gate_finds_no_fault_in_the_sound_run(name: str, tmp_path: Path, opa: Evaluator) -> None:
    assert errors(made(name, "somewhere", sound=True), tmp_path / "sound.yaml", opa) == set()


@pytest.mark.parametrize("name", [*FAULTS, *REFUSED])
def test_the_gate_refuses_the_fault_and_nothing_else(name: str, tmp_path: Path, opa: Evaluator) -> None:
    fault = (FAULTS | REFUSED)[name]
    assert errors(made(name, "somewhere"), tmp_path / "fault.yaml", opa, fault.severity) - AROUND == fault.rules


@pytest.mark.parametrize("name", ["alone-again", "ignored", "alone-per-index"])
def test_with_a_backoff_limit_the_job_replaces_one_worker_alone(name: str, runs: Namespace) -> None:
    runs.wait("a second pod of worker 1", lambda: len(workers(runs, name, 1)) > 1)
    (first,) = workers(runs, name, 0)
    assert first["status"]["phase"] == "Running"  # and holds what it has
    assert first["metadata"]["labels"]["jobset.sigs.k8s.io/restart-attempt"] == "0"
    assert runs.jobset(name)["status"]["restarts"] == 0


def test_beside_a_backoff_limit_of_0_the_one_per_index_changes_nothing(runs: Namespace) -> None:
    label = "jobset.sigs.k8s.io/restart-attempt"
    runs.wait("another gang", lambda: any(pod["metadata"]["labels"][label] != "0" for pod in runs.pods("alone-per-index-sound")))


def test_with_no_restart_of_an_index_the_job_goes_on_without_it(runs: Namespace) -> None:
    runs.wait("worker 1 failed", lambda: runs.get("job", "index-alone-node-0")["status"].get("failedIndexes") == "1")
    (first,) = workers(runs, "index-alone", 0)
    assert first["status"]["phase"] == "Running"
    assert len(workers(runs, "index-alone", 1)) == 1
    assert runs.jobset("index-alone")["status"]["restarts"] == 0


@pytest.mark.parametrize("name", ["in-place-container", "in-place-rule"])
def test_a_restart_by_the_containers_own_policy_is_counted_by_nobody(name: str, runs: Namespace) -> None:
    runs.wait("one pod of worker 1 started three times", lambda: max(starts(runs, name, 1), default=0) > 2)
    assert [pod["status"]["phase"] for pod in workers(runs, name, 0)] == ["Running"]
    assert len(workers(runs, name, 1)) == 1
    assert "failed" not in runs.get("job", f"{name}-node-0")["status"]
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


def test_without_indexes_no_worker_has_a_name(runs: Namespace) -> None:
    runs.wait("the run ended", lambda: runs.ended("no-index") == "Failed")
    failed = runs.pods("no-index")
    ends = [pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] for pod in failed]
    assert 2 in ends  # tfrun knows no worker of such a name
    assert not any("hostname" in pod["spec"] or INDEX in pod["metadata"]["labels"] for pod in failed)


@pytest.mark.parametrize("name", ["no-ancestor", "ancestor-on-pods"])
def test_without_the_ancestor_label_nothing_of_the_trainjob_arrives(name: str, runs: Namespace) -> None:
    runs.wait("the pod", lambda: len(runs.pods(name)) == 1)
    (container,) = runs.pods(name)[0]["spec"]["containers"]
    assert "command" not in container
    assert "TF_NUM_WORKERS" not in [each["name"] for each in container["env"]]
    runs.complete(name)  # without a command, the image's Python had nothing to do


@pytest.mark.parametrize("name", ["no-label", "as-annotation"])
def test_without_the_queue_label_a_run_starts_from_a_closed_queue(name: str, runs: Namespace) -> None:
    runs.wait("both pods run", lambda: runs.running(name) == 2)
    runs.wait("the Workload of the twin", lambda: ("TrainJob", "no-label-sound") in queued(runs))
    assert ("TrainJob", name) not in queued(runs)
    assert runs.pods("no-label-sound") == []


def test_without_the_queue_label_a_jobset_starts_from_a_closed_queue(runs: Namespace, tmp_path: Path, opa: Evaluator) -> None:
    sound, fault = jobset("bare-sound", "somewhere", "closed"), jobset("bare", "somewhere")
    assert errors([sound], tmp_path / "sound.yaml", opa) == set()
    assert errors([fault], tmp_path / "fault.yaml", opa) == {"queue/kueue-label"}
    runs.cluster.apply(jobset("bare-sound", runs.name, "closed"), jobset("bare", runs.name))
    runs.wait("its pod", lambda: len(runs.pods("bare")) == 1)
    runs.wait("the Workload of the twin", lambda: ("JobSet", "bare-sound") in queued(runs))
    assert ("JobSet", "bare") not in queued(runs)
    assert runs.pods("bare-sound") == []


def jobset(name: str, namespace: str, queue: str | None = None) -> Manifest:
    """A JobSet of the runtime's own, of one worker, whose Python has nothing to do."""
    spec = made("no-label", namespace, sound=True)[0]["spec"]["template"]["spec"]
    metadata = {"name": name, "namespace": namespace, "labels": {} if queue is None else {"kueue.x-k8s.io/queue-name": queue}}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": spec}


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


def test_what_no_scheduler_takes_is_never_scheduled(runs: Namespace) -> None:
    runs.wait("Volcano has made the pods' PodGroup", lambda: runs.get("podgroup", "nobodys-scheduler")["status"].get("phase") == "Inqueue")
    runs.wait("Volcano has looked", lambda: any(each.startswith("Unschedulable") for each in runs.events("no-scheduler-sound")))
    pods = runs.pods("nobodys-scheduler")
    assert [pod["status"]["phase"] for pod in pods] == ["Pending"] * 2
    assert not any("conditions" in pod["status"] for pod in pods)


def test_without_its_policy_a_gang_of_volcano_starts_one_by_one(runs: Namespace) -> None:
    runs.wait("one pod runs", lambda: runs.running("no-policy") == 1)
    runs.wait("Volcano has looked", lambda: any("Unschedulable" in str(pod["status"]) for pod in runs.pods("no-policy")))
    (job,) = runs.items("jobs", f"--selector={JOBSET_NAME}=no-policy")
    assert runs.get("podgroup", f"podgroup-{job['metadata']['uid']}")["spec"]["minMember"] == 1
    assert runs.running("no-policy") == 1


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


@pytest.mark.parametrize("name", ["read-by-nobody", "read-by-nobody-else", "as-label"])
def test_a_queue_where_trainer_does_not_read_it_leaves_the_gang_in_the_queue_default(name: str, runs: Namespace) -> None:
    runs.wait("both pods run", lambda: runs.running(name) == 2)
    assert runs.get("podgroup", name)["spec"]["queue"] == "default"


def test_a_gang_above_the_capability_of_its_queue_is_never_enqueued(runs: Namespace) -> None:
    reason = r"queue resource quota insufficient: (insufficient cpu, )?insufficient memory"  # others may have the queue's CPU
    runs.wait("Volcano says why", lambda: bool(re.search(reason, str(runs.events("over-capability")))))
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


@pytest.mark.parametrize(
    ("name", "reason"),
    {
        "no-secret": 'secret "a-secret" not found',
        "no-key": "references non-existent config key: tfrn.py",
        "no-claim": 'persistentvolumeclaim "checkpoint" not found',
    }.items(),
)
def test_without_its_secret_its_key_or_its_claim_no_container_is_made(name: str, reason: str, runs: Namespace) -> None:
    runs.wait("the pod", lambda: len(runs.pods(name)) == 1)
    (pod,) = runs.pods(name)
    runs.wait("the reason", lambda: reason in str(runs.events(pod["metadata"]["name"])))
    assert [each["status"]["phase"] for each in runs.pods(name)] == ["Pending"]


def test_without_its_service_account_no_pod_is_made(runs: Namespace) -> None:
    reason = 'error looking up service account {}/nobody: serviceaccount "nobody" not found'
    runs.wait("the reason", lambda: reason.format(runs.name) in str(runs.events("no-account-node-0")))
    assert runs.pods("no-account") == []


def test_without_its_pull_secret_a_run_pulls_all_the_same(runs: Namespace) -> None:
    runs.complete("no-pull-secret")
    (pod,) = runs.pods("no-pull-secret")
    assert "FailedToRetrieveImagePullSecret" in str(runs.events(pod["metadata"]["name"]))


def test_of_a_placeholder_no_image_is_pulled(runs: Namespace) -> None:
    runs.wait("the pod", lambda: len(runs.pods("placeholder")) == 1)
    (pod,) = runs.pods("placeholder")
    runs.wait("the reason", lambda: "must be lowercase" in str(runs.events(pod["metadata"]["name"])))
    assert [each["status"]["phase"] for each in runs.pods("placeholder")] == ["Pending"]


def test_a_job_that_a_patch_adds_is_never_made(runs: Namespace) -> None:
    runs.wait("the reason", lambda: "containers[0].image: Required value" in _said(runs, "no-job"))
    assert {job["name"] for job in runs.jobset("no-job")["spec"]["replicatedJobs"]} == {"node", "worker"}
    assert "no-job-worker-0" not in [job["metadata"]["name"] for job in runs.items("jobs")]


def test_with_a_number_below_the_workers_the_others_end_and_the_run_fails(runs: Namespace) -> None:
    runs.wait("worker 1 said why", lambda: "is worker 1, but TF_NUM_WORKERS=1" in runs.logs("one-too-many", 1))
    runs.wait("the run ended", lambda: runs.ended("one-too-many") == "Failed")


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


@pytest.mark.parametrize("name", PAUSED)
def test_with_the_queue_label_below_the_run_kueue_stops_what_its_owner_starts(name: str, runs: Namespace) -> None:
    runs.cluster.apply(*(each for each in made(name, runs.name) if each["kind"] == "TrainJob"))
    pods = f"SuccessfulCreate: Created pod: {name}-node-0-0-"
    runs.wait("pods in spite of the closed queue, three times", lambda: str(runs.events(f"{name}-node-0")).count(pods) > 2)
    assert PAUSED[name] in queued(runs)
    assert ("TrainJob", name) not in queued(runs)
    runs.kubectl("delete", "trainjob", name, "--wait=false")  # it would go on for ever


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


def test_a_patch_of_nodes_env_is_refused(runs: Namespace) -> None:
    assert "must not have envs for the dataset-initializer, model-initializer, node containers" in refused(runs, "patched-env")


def test_an_empty_queue_of_volcano_is_refused(cluster: Cluster, namespace: Namespace) -> None:
    runtime, job, *_ = made("empty-queue", namespace.name)
    with present(cluster, runtime):
        assert "Volcano queue name must not be empty" in accepted(cluster, [job])


def test_an_empty_queue_label_is_refused(runs: Namespace) -> None:
    assert "trainjob.kb.io" in refused(runs, "empty-label")
    assert 'metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: ""' in refused(runs, "empty-label")
    said = refusal(runs.cluster, [jobset("empty-label", runs.name, "")])
    assert "jobset.kb.io" in said
    assert 'metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: ""' in said


def refused(runs: Namespace, name: str) -> str:
    """What is said against a TrainJob of REFUSED, with a runtime that is there."""
    _, job, *_ = made(name, runs.name)
    job["spec"]["runtimeRef"]["name"] = f"{runs.name}-{next(iter(FAULTS))}"
    return refusal(runs.cluster, [job])


def test_two_replicas_of_the_trainers_job_are_refused(cluster: Cluster) -> None:
    assert refusal(cluster, made("two-replicas", "test", sound=True)[:1]) == ""
    assert "always must be 1" in refusal(cluster, made("two-replicas", "test")[:1])


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
