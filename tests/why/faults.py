"""Runs that go wrong, each in one way, small enough to share a node: what `gate why` is shown in the lab.

Everything cluster-scoped bears the namespace's name, so that namespaces do not meet.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

Manifest = dict[str, Any]
TFRUN = Path(__file__).resolve().parents[2] / "training" / "tfrun.py"
KUEUE = "kueue.x-k8s.io/v1beta2"
SLEEP = "import time; print('step 1', flush=True); time.sleep(3000)"
IMAGE = "nvcr.io/nvidia/tensorflow:24.03-tf2-py3"


def surroundings(namespace: str) -> list[Manifest]:
    """The namespace with its code, queues of several kinds for both systems, and the runtime `plain`."""

    def cluster_queue(name: str, cpu: str, flavor: str | None = None, **more: Any) -> Manifest:
        resources = [{"name": "cpu", "nominalQuota": cpu}, {"name": "memory", "nominalQuota": "4Gi"}]
        flavor = flavor or f"{namespace}-any"
        spec = {
            "namespaceSelector": {},
            "resourceGroups": [{"coveredResources": ["cpu", "memory"], "flavors": [{"name": flavor, "resources": resources}]}],
            "preemption": {"withinClusterQueue": "LowerPriority"},
            **more,
        }
        return {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": f"{namespace}-{name}"}, "spec": spec}

    def local_queue(name: str) -> Manifest:
        spec = {"clusterQueue": f"{namespace}-{name}"}
        return {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": {"name": name}, "spec": spec}

    def flavor(name: str, **spec: Any) -> Manifest:
        return {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": f"{namespace}-{name}"}, "spec": spec}

    def volcano(name: str, **capability: str) -> Manifest:
        return {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": f"{namespace}-{name}"},
            "spec": {"capability": capability} if capability else {},
        }

    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "code"}, "data": {"tfrun.py": TFRUN.read_text(encoding="utf-8")}},
        flavor("any"),
        flavor("racks", nodeLabels={"kubernetes.io/os": "linux"}, topologyName=f"{namespace}-racks"),
        {
            "apiVersion": KUEUE,
            "kind": "Topology",
            "metadata": {"name": f"{namespace}-racks"},
            "spec": {"levels": [{"nodeLabel": "kubernetes.io/hostname"}]},
        },
        cluster_queue("wide", "1"),
        cluster_queue("small", "40m"),
        cluster_queue("stopped", "1", stopPolicy="Hold"),
        cluster_queue("flavorless", "1", flavor="nowhere"),
        cluster_queue("elsewhere", "1", namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": "elsewhere"}}),
        cluster_queue("racks", "100", flavor=f"{namespace}-racks"),
        flavor("tainted", nodeTaints=[{"key": "example.com/gpu", "value": "yes", "effect": "NoSchedule"}]),
        cluster_queue("tainted", "1", flavor=f"{namespace}-tainted"),
        volcano("closing"),
        cluster_queue("checkless", "1", admissionChecksStrategy={"admissionChecks": [{"name": "nowhere"}]}),
        cluster_queue("checked", "1", admissionChecksStrategy={"admissionChecks": [{"name": f"{namespace}-check"}]}),
        {
            "apiVersion": KUEUE,
            "kind": "AdmissionCheck",
            "metadata": {"name": f"{namespace}-check"},
            "spec": {"controllerName": "example.com/nobody"},
        },
        *(
            local_queue(name)
            for name in ("wide", "small", "stopped", "flavorless", "elsewhere", "racks", "tainted", "checkless", "checked", "dangling")
        ),
        volcano("small", cpu="40m"),
        volcano("large"),
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "WorkloadPriorityClass",
            "metadata": {"name": f"{namespace}-first"},
            "value": 1000,
        },
        runtime("plain"),
    ]


def runtime(name: str, edit: Callable[[Manifest], None] | None = None, **more: Any) -> Manifest:
    """A sound TrainingRuntime; `edit` changes its JobSet."""
    pod = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        "containers": [
            {
                "name": "node",
                "image": IMAGE,
                "command": ["python3", "/code/tfrun.py", "--", "python3", "-c", SLEEP],
                "env": [
                    {
                        "name": "TFRUN_ATTEMPT",
                        "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['jobset.sigs.k8s.io/restart-attempt']"}},
                    }
                ],
                "volumeMounts": [{"name": "code", "mountPath": "/code", "readOnly": True}],
            }
        ],
        "volumes": [{"name": "code", "configMap": {"name": "code"}}],
    }
    job = {
        "name": "node",
        "replicas": 1,
        "template": {
            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
            "spec": {"backoffLimit": 0, "template": {"spec": pod}},
        },
    }
    jobset = {
        "metadata": {},
        "spec": {"failurePolicy": {"maxRestarts": 0}, "network": {"publishNotReadyAddresses": True}, "replicatedJobs": [job]},
    }
    if edit:
        edit(jobset)
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": name},
        "spec": {"mlPolicy": {"numNodes": 2}, "template": jobset, **more},
    }


def trainjob(name: str, script: str = SLEEP, *, edit: Callable[[Manifest], None] | None = None, **given: Any) -> list[Manifest]:
    """A TrainJob and, where its JobSet is edited, a runtime of its own.

    given: workers, queue, env, requests, labels, command, spec (merged into the TrainJob's), runtime (merged into the runtime's).
    """
    workers = given.get("workers", 2)
    own = edit is not None or "runtime" in given
    labels = {**({"kueue.x-k8s.io/queue-name": given["queue"]} if given.get("queue") else {}), **given.get("labels", {})}
    requests = given.get("requests", {"cpu": "10m", "memory": "64Mi"})
    env = {"TF_NUM_WORKERS": str(workers), **given.get("env", {})}
    job = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "runtimeRef": {"kind": "TrainingRuntime", "name": name if own else "plain"},
            "trainer": {
                "numNodes": workers,
                "command": given.get("command", ["python3", "/code/tfrun.py", "--", "python3", "-u", "-c", script]),
                "env": [{"name": key, "value": value} for key, value in env.items()],
                "resourcesPerNode": {"requests": requests, **given.get("resources", {})},
            },
            **given.get("spec", {}),
        },
    }
    return [*([runtime(name, edit, **given.get("runtime", {}))] if own else []), job]


def _pod(**fields: Any) -> Callable[[Manifest], None]:
    def edit(jobset: Manifest) -> None:
        jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"].update(copy.deepcopy(fields))

    return edit


def _container(**fields: Any) -> Callable[[Manifest], None]:
    def edit(jobset: Manifest) -> None:
        container = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]
        for key, value in copy.deepcopy(fields).items():
            container[key] = [*container.get(key, []), *value] if isinstance(value, list) and key != "command" else value

    return edit


def _jobset(**fields: Any) -> Callable[[Manifest], None]:
    return lambda jobset: jobset["spec"].update(copy.deepcopy(fields))


def _job(**fields: Any) -> Callable[[Manifest], None]:
    return lambda jobset: jobset["spec"]["replicatedJobs"][0]["template"]["spec"].update(copy.deepcopy(fields))


def _all(*edits: Callable[[Manifest], None]) -> Callable[[Manifest], None]:
    def edit(jobset: Manifest) -> None:
        for each in edits:
            each(jobset)

    return edit


def _volcano(namespace: str, queue: str, *edits: Callable[[Manifest], None], scheduler: str = "volcano") -> dict[str, Any]:
    def annotate(jobset: Manifest) -> None:
        jobset["metadata"]["annotations"] = {"scheduling.volcano.sh/queue-name": f"{namespace}-{queue}"}

    return {
        "edit": _all(annotate, *([_pod(schedulerName=scheduler)] if scheduler else []), *edits),
        "runtime": {"podGroupPolicy": {"volcano": {}}},
    }


def _beside(run: str) -> Manifest:
    selector = {"matchLabels": {"jobset.sigs.k8s.io/jobset-name": run}}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}]}


def _apart(run: str) -> Callable[[Manifest], None]:
    """No two pods of the run on one node."""
    return _pod(affinity={"podAntiAffinity": _beside(run)})


_INDEX = "import os, time; index = int(os.environ['JOB_COMPLETION_INDEX'])\n"
_UNLABELLED: Callable[[Manifest], None] = lambda jobset: jobset["spec"]["replicatedJobs"][0]["template"].pop("metadata")  # noqa: E731
_LATE = "import tensorflow as tf\ntf.constant(1)\ntf.distribute.MultiWorkerMirroredStrategy()"


def _prepared(jobset: Manifest) -> None:
    """A first Job that never ends, which the workers wait for."""
    workers = jobset["spec"]["replicatedJobs"][0]
    prepare = copy.deepcopy(workers)
    prepare["name"] = "prepare"
    del prepare["template"]["metadata"]
    prepare["template"]["spec"]["template"]["spec"]["containers"][0]["command"] = ["sleep", "3000"]
    workers["dependsOn"] = [{"name": "prepare", "status": "Complete"}]
    jobset["spec"]["replicatedJobs"] = [prepare, workers]


def _labelled(jobset: Manifest) -> None:
    """The queue label on the pods."""
    template = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    template["metadata"] = {"labels": {"kueue.x-k8s.io/queue-name": "stopped"}}


def _patched(pod: Manifest) -> Manifest:
    """A runtimePatch of the pod template."""
    job = {"name": "node", "template": {"spec": {"template": pod}}}
    patch = {"manager": "training.gitops/run", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [job]}}}}
    return {"runtimePatches": [patch]}


_TOPOLOGY = _patched({"metadata": {"annotations": {"kueue.x-k8s.io/podset-required-topology": "kubernetes.io/hostname"}}})
_CRASH = """
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
@tf.function
def step():
    return strategy.run(lambda: tf.distribute.get_replica_context().all_reduce("sum", tf.ones([2])))
for number in range(100000):
    step()
    if number == 5 and strategy.cluster_resolver.task_id == 1:
        raise ValueError("the loss is not a number")
"""


def faults(namespace: str) -> dict[str, list[Manifest]]:
    """The objects of each fault, by its name, which is also the TrainJob's."""
    big = {"cpu": "10", "memory": "64Mi"}
    crash = (
        _INDEX + "print('step 1', flush=True); time.sleep(5)\nif index == 1: raise ValueError('the loss is not a number')\ntime.sleep(3000)"
    )
    found = [
        trainjob("complete", "print('done')", queue="wide"),
        trainjob("running", queue="wide"),
        trainjob("suspended", spec={"suspend": True}),
        trainjob("other-manager", spec={"managedBy": "kueue.x-k8s.io/multikueue"}),
        trainjob("no-multikueue", queue="wide", spec={"managedBy": "kueue.x-k8s.io/multikueue"}),
        trainjob("jobset-managed", queue="wide", edit=_jobset(managedBy="kueue.x-k8s.io/multikueue")),
        trainjob("deadline", spec={"activeDeadlineSeconds": 20}),
        trainjob("job-deadline", edit=_all(_jobset(failurePolicy={"maxRestarts": 50}), _job(activeDeadlineSeconds=20))),
        trainjob("job-deadline-failed", edit=_job(activeDeadlineSeconds=20)),
        trainjob("pod-deadline-failed", edit=_pod(activeDeadlineSeconds=20)),
        trainjob("held-by", queue="small", requests={"cpu": "20m", "memory": "64Mi"}),
        trainjob("quota-held", queue="small"),
        trainjob("never-fits", queue="small", workers=5),
        trainjob("no-local-queue", queue="nowhere"),
        trainjob("no-cluster-queue", queue="dangling"),
        trainjob("queue-stopped", queue="stopped"),
        trainjob("no-flavor", queue="flavorless"),
        trainjob("not-selected", queue="elsewhere"),
        trainjob("not-covered", queue="wide", requests={"cpu": "10m"}, resources={"limits": {"nvidia.com/gpu": "1"}}),
        trainjob("no-topology-place", queue="racks", requests=big, spec=_TOPOLOGY),
        trainjob("no-priority-class", queue="wide", labels={"kueue.x-k8s.io/priority-class": "nowhere"}),
        trainjob("deactivated", queue="small"),
        trainjob("runtime-gone", queue="stopped", runtime={}),
        trainjob("volcano-running", **_volcano(namespace, "small"), requests={"cpu": "20m", "memory": "64Mi"}),
        trainjob("volcano-queue-full", **_volcano(namespace, "small")),
        trainjob("volcano-never-fits", workers=5, **_volcano(namespace, "small")),
        trainjob("volcano-no-queue", **_volcano(namespace, "nowhere")),
        trainjob("volcano-too-large", requests=big, **_volcano(namespace, "large")),
        trainjob("volcano-no-node", workers=1, requests={"cpu": "2200m", "memory": "64Mi"}, **_volcano(namespace, "large")),
        trainjob("volcano-unnamed", **_volcano(namespace, "large", _apart("volcano-unnamed"), scheduler="")),
        trainjob("no-scheduler", edit=_pod(schedulerName="vocalno")),
        trainjob("too-large", requests=big),
        trainjob("node-selector", edit=_pod(nodeSelector={"pool": "v100"})),
        trainjob("split", edit=_apart("split")),
        trainjob(
            "no-claim",
            edit=_pod(
                volumes=[
                    {"name": "code", "configMap": {"name": "code"}},
                    {"name": "data", "persistentVolumeClaim": {"claimName": "nowhere"}},
                ]
            ),
        ),
        trainjob("no-image", edit=_container(image="registry.invalid/tensorflow:1"), spec={}),
        trainjob("no-config-map", edit=_pod(volumes=[{"name": "code", "configMap": {"name": "nowhere"}}])),
        trainjob("no-secret", edit=_container(env=[{"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "nowhere", "key": "key"}}}])),
        trainjob("no-command", command=["trian"]),
        trainjob("pod-security", edit=_pod(hostNetwork=True)),
        trainjob("a-name-that-is-so-long-that-no-pod-can-be-called-by-it-at-all"),
        trainjob("request-only", requests={"cpu": "10m", "nvidia.com/gpu": "1"}),
        trainjob(
            "out-of-memory",
            _INDEX + "time.sleep(3)\nif index == 1: bytearray(1 << 30)\ntime.sleep(3000)",
            resources={"limits": {"memory": "64Mi"}},
        ),
        trainjob(
            "evicted",
            _INDEX + "open('/scratch/data', 'wb').write(bytes(8 << 20))\ntime.sleep(3000)",
            edit=_all(
                _pod(volumes=[{"name": "code", "configMap": {"name": "code"}}, {"name": "scratch", "emptyDir": {"sizeLimit": "1Mi"}}]),
                _container(volumeMounts=[{"name": "scratch", "mountPath": "/scratch"}]),
            ),
        ),
        trainjob("failed", crash, edit=_jobset(failurePolicy={"maxRestarts": 1})),
        trainjob("restarting", crash, edit=_jobset(failurePolicy={"maxRestarts": 50})),
        trainjob(
            "restarted",
            _INDEX + "if os.environ['TFRUN_ATTEMPT'] == '0':\n    time.sleep(5); raise ValueError('once')\ntime.sleep(3000)",
            edit=_jobset(failurePolicy={"maxRestarts": 3}),
        ),
        trainjob("bad-value", env={"TF_DISCOVERY_TIMEOUT": "soon"}),
        trainjob("alone-again", crash, edit=_job(backoffLimit=6)),
        trainjob("in-place", crash, edit=_all(_pod(restartPolicy="OnFailure"), _job(backoffLimit=6))),
        trainjob(
            "not-in-dns",
            edit=_all(_jobset(network={"publishNotReadyAddresses": False}), _container(readinessProbe={"exec": {"command": ["false"]}})),
        ),
        trainjob("worker-count", env={"TF_NUM_WORKERS": "3"}),
        trainjob("no-agreement", env={"TF_NUM_WORKERS": "3", "TF_DISCOVERY_TIMEOUT": "15"}),
        trainjob(
            "no-answer",
            command=["sh", "-c", "test $JOB_COMPLETION_INDEX = 0 && exec sleep 3000; exec python3 /code/tfrun.py -- sleep 3000"],
        ),
        trainjob("no-ancestor", edit=_UNLABELLED),
        trainjob("preempted", queue="small", requests={"cpu": "20m", "memory": "64Mi"}),
        trainjob("preempting", queue="small", labels={"kueue.x-k8s.io/priority-class": f"{namespace}-first"}),
        trainjob("no-check", queue="checkless"),
        trainjob("check-pending", queue="checked"),
        trainjob("drained", queue="wide"),
        trainjob(
            "gathering",
            command=["sh", "-c", "test $JOB_COMPLETION_INDEX = 1 && exec sleep 3000; exec python3 /code/tfrun.py -- sleep 3000"],
        ),
        trainjob("killed", _INDEX + "time.sleep(3)\nif index == 1: os.kill(os.getpid(), 9)\ntime.sleep(3000)"),
        trainjob("no-program", command=["python3", "/code/tfrun.py", "--", "trian"]),
        trainjob("strategy-late", _LATE, workers=1, resources={"limits": {"memory": "2Gi"}}),
        trainjob("over-quota"),
        trainjob("no-hostnames", edit=_jobset(network={"enableDNSHostnames": False})),
        trainjob("jobset-queued", edit=lambda jobset: jobset["metadata"].update(labels={"kueue.x-k8s.io/queue-name": "stopped"})),
        trainjob("pods-queued", edit=_labelled),
        trainjob("patch-dropped", queue="small", spec=_patched({"spec": {"terminationGracePeriodSeconds": 60}})),
        trainjob("peer-lost", _CRASH, resources={"limits": {"memory": "2Gi"}}),
        trainjob("tainted", queue="tainted"),
        trainjob("above-limit", queue="wide", resources={"limits": {"cpu": "5m"}}),
        trainjob("no-neighbour", edit=_pod(affinity={"podAffinity": _beside("nobody")})),
        trainjob(
            "stays",
            _INDEX + "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3000)",
            edit=_pod(terminationGracePeriodSeconds=60),
        ),
        trainjob("volcano-closed", requests=big, **_volcano(namespace, "closing")),
        trainjob("no-folder", edit=_pod(volumes=[{"name": "code", "hostPath": {"path": "/nowhere", "type": "Directory"}}])),
        trainjob("gated", edit=_pod(schedulingGates=[{"name": "example.com/wait"}])),
        trainjob("initializer", edit=_prepared),
        trainjob("no-sandbox", edit=_pod(securityContext={"sysctls": [{"name": "net.ipv4.ping_group_range", "value": "none"}]})),
        trainjob("root-refused", edit=_pod(securityContext={"runAsNonRoot": True, "runAsUser": 0})),
        trainjob("no-room", workers=1, requests={"cpu": "1900m", "memory": "64Mi"}),
        trainjob("volcano-no-room", workers=1, requests={"cpu": "1900m", "memory": "64Mi"}, **_volcano(namespace, "large")),
        trainjob("volcano-node-selector", **_volcano(namespace, "large", _pod(nodeSelector={"pool": "v100"}))),
    ]
    return {each[-1]["metadata"]["name"]: each for each in found}
