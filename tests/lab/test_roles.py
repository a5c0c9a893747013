"""Runs of several Jobs, and what Trainer and JobSet accept without a word: each claim of the rules, at the real controllers.

As in test_gate_and_cluster each fault is an edit of a repository's runtime and a small run of it, and all start together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import yaml

from gate.evaluate import Evaluator
from lab import model
from tests.conftest import ROOT
from tests.edit import edited
from tests.lab.conftest import Cluster
from tests.lab.live import Manifest, Namespace, surroundings
from tests.lab.test_gate_and_cluster import IMAGE, RUNTIME, Fault, findings, made, refusal, starts, together

CASES = yaml.safe_load((ROOT / "tests/rules/jobset/accepted.yaml").read_text(encoding="utf-8"))["cases"]
JOBSETS = [case for case in CASES if case["from"] == "jobset"]
FAILS = "raise SystemExit(1)\n"
JOBS = "      replicatedJobs:\n      - name: node\n"
NODE = "      - name: node\n        template:\n          metadata:\n"
OF_FIRST = "success-of-the-first-dataset-initializer-0"
LABEL = "trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer"
pytestmark = pytest.mark.lab


def job(name: str, command: str, *, job: str = "", spec: str = "", pod: str = "", container: str = "", labels: str = "") -> str:
    """A replicatedJob as it stands in a runtime. `job`, `spec`, `pod` and `container` are fields of it, of its Job, its pod and its container."""
    resources = "resources: {requests: {cpu: 20m, memory: 128Mi}, limits: {memory: 128Mi}}"
    container = f"{container}name: {name}, {IMAGE}, command: [{command}], {resources}"
    inside = (
        f"{pod}restartPolicy: Never, terminationGracePeriodSeconds: 5, automountServiceAccountToken: false, containers: [{{{container}}}]"
    )
    template = f"metadata: {{labels: {{{labels}}}}}, spec: {{{spec}backoffLimit: 0, template: {{spec: {{{inside}}}}}}}"
    return f"      - {{name: {name}, {job}template: {{{template}}}}}\n"


def before_node(text: str) -> tuple[str, str]:
    """The edit that puts a Job before the one that trains."""
    return JOBS, JOBS.replace("      - name: node\n", f"{text}      - name: node\n")


def after(name: str, status: str = "Complete") -> tuple[str, str]:
    """The edit that makes the Job that trains wait for another."""
    return NODE, NODE.replace("        template:\n", f"        dependsOn: [{{name: {name}, status: {status}}}]\n        template:\n")


def of_jobset(field: str) -> tuple[str, str]:
    """The edit that gives the runtime's JobSet a field."""
    return "      failurePolicy:\n", f"      {field}\n      failurePolicy:\n"


def workers(run: str, name: str, count: int) -> str:
    """A replicatedJob whose pods tfrun starts like those of the run, two to a cluster."""
    return job(
        name,
        "python3, /workspace/code/tfrun.py, python3, /workspace/code/main.py",
        spec=f"parallelism: {count}, completions: {count}, ",
        pod=f"volumes: [{{name: code, configMap: {{name: {run}, optional: true}}}}], ",  # none where its twin is judged alone
        container="volumeMounts: [{name: code, mountPath: /workspace/code}], env: [{name: TF_NUM_WORKERS, value: '2'}], ",
    )


BOARD = f"name: board, {IMAGE}, command: [sleep, infinity], resources: {{requests: {{cpu: 20m, memory: 128Mi}}, limits: {{memory: 128Mi}}}}"
SIDECAR = f"                initContainers: [{{restartPolicy: Always, {BOARD}}}]\n"
POD = "                restartPolicy: Never\n                securityContext:\n"  # what stands behind the container that trains
ALONE = "labelSelector: {matchExpressions: [{key: jobset.sigs.k8s.io/replicatedjob-name, operator: In, values: [alone]}]}"
ONE_A_NODE = f"affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{{topologyKey: kubernetes.io/hostname, {ALONE}}}]}}}}, "
INITIALIZER = job(
    "dataset-initializer",
    "'true'",
    labels=LABEL,
    pod="volumes: [{name: initializer, persistentVolumeClaim: {claimName: checkpoints}}], ",
    container="volumeMounts: [{name: initializer, mountPath: /workspace/dataset}], ",
)
FETCHES = [
    before_node(INITIALIZER),
    after("dataset-initializer"),
    ("  runtimePatches:\n", "  initializer: {dataset: {storageUri: 's3://bucket/data'}}\n  runtimePatches:\n"),
]
VOLCANO = {"overlay": "no-ib-volcano", "run": {"queue": None}}
FAULTS = {
    "time-limit": Fault(
        rules={"jobset/ttl-after-finished"},
        given=[("maxRestarts: 3", "maxRestarts: 0")],
        edits=[of_jobset("ttlSecondsAfterFinished: 1")],
        script=FAILS,
        **VOLCANO,
    ),
    "job-limit": Fault(
        rules={"jobset/ttl-after-finished"},
        given=[before_node(job("first", "'true'", spec="parallelism: 1, "))],
        edits=[("parallelism: 1, ", "parallelism: 1, ttlSecondsAfterFinished: 0, ")],
    ),
    "itself": Fault(
        rules={"jobset/accepted"},
        given=[before_node(job("first", "'true'"))],
        edits=[after("node", "Ready")],
    ),
    "any-success": Fault(
        rules={"jobset/success-after-training"},
        given=[before_node(job("dataset-initializer", "'true'", labels=LABEL))],
        edits=[of_jobset("successPolicy: {operator: Any}")],
    ),
    "success-of-the-first": Fault(
        rules={"jobset/success-after-training"},
        given=[before_node(job("dataset-initializer", "sleep, '3'", labels=LABEL))],
        edits=[of_jobset("successPolicy: {operator: All, targetReplicatedJobs: [dataset-initializer]}")],
    ),
    "beside": Fault(
        rules={"jobset/nothing-endless"},
        given=[(POD, SIDECAR + POD)],
        edits=[(SIDECAR, f"                - {{{BOARD}}}\n")],
        script="",
    ),
    "endless-first": Fault(
        rules={"jobset/nothing-endless"},
        given=[before_node(job("first", "sleep, '3'")), after("first")],
        edits=[("sleep, '3'", "sleep, infinity")],
    ),
    "endless": Fault(
        rules={"jobset/nothing-endless"},
        given=[before_node(job("board", "sleep, '3'"))],
        edits=[("sleep, '3'", "sleep, infinity")],
        script="",
    ),
    "gang-waits": Fault(
        rules={"queue/gang-starts-together"},
        given=[before_node(job("first", "'true'", pod="schedulerName: volcano, "))],
        edits=[after("first")],
        **VOLCANO,
    ),
    "in-order": Fault(
        rules={"queue/gang-starts-together"},
        given=[before_node(job("first", "'true'", pod="schedulerName: volcano, "))],
        edits=[of_jobset("startupPolicy: {startupPolicyOrder: InOrder}")],
        **VOLCANO,
    ),
    "replicas": Fault(
        rules={"queue/gang-starts-together"},
        given=[
            before_node(job("alone", "sleep, '3600'", spec="parallelism: 2, completions: 2, ", pod=f"schedulerName: volcano, {ONE_A_NODE}"))
        ],
        edits=[
            ("parallelism: 2, completions: 2, ", "parallelism: 1, completions: 1, "),
            ("- {name: alone, ", "- {name: alone, replicas: 2, "),
        ],
        **VOLCANO,
    ),
    "no-name": Fault(
        rules={"jobset/worker-names"},
        given=[before_node(workers("no-name", "more-node", 2)), ("maxRestarts: 3", "maxRestarts: 0")],
        edits=[("- {name: more-node, ", "- {name: more, ")],
        script="",
    ),
    "own-cluster": Fault(
        rules={"trainer/worker-count"},
        given=[before_node(workers("own-cluster", "more-node", 2))],
        edits=[("parallelism: 2, completions: 2, ", "parallelism: 1, completions: 1, ")],
        script="",
    ),
    "no-nodes": Fault(
        rules={"trainer/num-nodes"},
        given=[("    env:\n    - name: TF_NUM_WORKERS\n      value: '2'\n", "")],
        edits=[("    numNodes: 2\n    resources", "    numNodes: 0\n    resources")],
    ),
    "minus-nodes": Fault(
        rules={"trainer/num-nodes"},
        given=[("    env:\n    - name: TF_NUM_WORKERS\n      value: '2'\n", "")],
        edits=[("    numNodes: 2\n    resources", "    numNodes: -1\n    resources")],
    ),
    "unlabelled": Fault(
        rules={"trainer/initializers"},
        given=FETCHES,
        edits=[(LABEL, "")],
        script="",
    ),
    "subdomain": Fault(
        rules={"jobset/own-subdomain"},
        edits=[("publishNotReadyAddresses: true", "publishNotReadyAddresses: true\n        subdomain: peers")],
    ),
}

TWINS = ("own-cluster", "beside", "replicas", "unlabelled")
REFUSED = {  # by Trainer's webhook, in these words: only their runtimes are made
    "no-job": (
        "must have dataset-initializer job",
        [("- {name: dataset-init", "- {name: data-init"), ("{name: dataset-initializer, s", "{name: data-initializer, s")],
    ),
    "no-container": (
        "must have container with name - dataset-initializer",
        [(LABEL, ""), (f"name: dataset-initializer, {IMAGE}", f"name: fetch, {IMAGE}")],
    ),
    "no-mount": (
        "must have volumeMount with name - initializer",
        [("volumes: [{name: initializer", "volumes: [{name: data"), ("volumeMounts: [{name: initializer", "volumeMounts: [{name: data")],
    ),
}


@pytest.fixture(scope="module")
def runs(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Namespace]:
    """All faults, the sound twins of those in TWINS and a second run of the shared subdomain, started together."""

    def objects(namespace: str) -> list[Manifest]:
        faults = [each for name, fault in FAULTS.items() for each in made(name, namespace, of=fault)]
        twins = [each for name in TWINS for each in made(name, namespace, sound=True, of=FAULTS[name])]
        runtimes = [each for name in REFUSED for each in made(name, namespace, of=fetches(name)) if each["kind"] == RUNTIME]
        return [*faults, *twins, *runtimes, *made("subdomain-2", namespace, of=FAULTS["subdomain"])]

    with together(cluster, request, objects) as namespace:
        yield namespace


@pytest.mark.parametrize("name", FAULTS)
def test_the_gate_tells_the_fault_and_nothing_else(name: str, tmp_path: Path, opa: Evaluator) -> None:
    told(name, FAULTS[name], tmp_path, opa)


def test_with_a_time_limit_a_failed_run_trains_again(runs: Namespace) -> None:
    runs.wait("a JobSet", lambda: bool(uid(runs, "time-limit")))
    first = uid(runs, "time-limit")
    runs.wait("pods of another JobSet", lambda: any(pod_of(pod) not in (first, "") for pod in runs.pods("time-limit")))
    assert runs.get("podgroup", "time-limit")["metadata"]["ownerReferences"][0]["kind"] == "TrainJob"  # the same run, not a new one
    runs.kubectl("delete", "trainjob", "time-limit", "--wait=false")  # it would go on for ever


def test_with_a_time_limit_of_its_own_a_job_runs_again_beside_the_workers(runs: Namespace) -> None:
    runs.wait("the first Job ran twice", lambda: len(starts_of(runs, "job-limit-first-0-0-")) > 1)
    assert len(starts(runs, "job-limit", 0)) == 1
    runs.kubectl("delete", "trainjob", "job-limit", "--wait=false")


def test_a_job_that_waits_for_itself_is_never_made(runs: Namespace) -> None:
    runs.wait("the other Job is done", lambda: done(runs, "itself", "first") == 1)
    assert [each["metadata"]["name"] for each in jobs(runs, "itself")] == ["itself-first-0"]
    assert runs.ended("itself") == ""


def test_with_any_success_a_run_is_complete_before_it_trains(runs: Namespace) -> None:
    runs.complete("any-success")
    assert done(runs, "any-success", "node") == 0


def test_with_the_success_of_the_first_job_the_workers_are_deleted(runs: Namespace) -> None:
    runs.complete("success-of-the-first")
    runs.wait("the workers are gone", lambda: [each["metadata"]["name"] for each in jobs(runs, "success-of-the-first")] == [OF_FIRST])
    assert done(runs, "success-of-the-first", "node") == 0


def test_a_container_that_never_ends_keeps_the_pods_of_a_trained_run(runs: Namespace) -> None:
    runs.complete("beside-sound")  # where the same container is a sidecar
    runs.wait("the training is done", lambda: ended(runs, "beside", "node") == [0, 0])
    assert ended(runs, "beside", "board") == []
    assert runs.running("beside") == 2
    assert runs.ended("beside") == ""


def test_a_job_that_waits_for_one_without_an_end_is_never_made(runs: Namespace) -> None:
    runs.wait("the first Job runs", lambda: runs.running("endless-first") == 1)
    assert [each["metadata"]["name"] for each in jobs(runs, "endless-first")] == ["endless-first-first-0"]


def test_a_job_that_never_ends_keeps_a_run_from_being_complete(runs: Namespace) -> None:
    runs.wait("the training is done", lambda: done(runs, "endless", "node") == 1)
    assert runs.ended("endless") == ""


@pytest.mark.parametrize("name", ["gang-waits", "in-order"])
def test_a_gang_whose_jobs_wait_for_one_another_never_starts(name: str, runs: Namespace) -> None:
    runs.wait("Volcano has looked", lambda: any("1 Pending, 3 minAvailable" in each for each in runs.events(name)))
    assert [pod["status"]["phase"] for pod in runs.pods(name)] == ["Pending"]


def test_of_replicas_the_pod_group_counts_one_and_a_part_starts(runs: Namespace) -> None:
    runs.wait("three of four pods run", lambda: runs.running("replicas") == 3)
    assert len(runs.pods("replicas")) == len(runs.pods("replicas-sound")) == 4
    assert runs.get("podgroup", "replicas")["spec"]["minMember"] == 3
    runs.wait("Volcano has looked at all", lambda: any(each.startswith("Unschedulable") for each in runs.events("replicas-sound")))
    assert runs.get("podgroup", "replicas-sound")["spec"]["minMember"] == 4
    assert runs.running("replicas-sound") == 0


def test_a_second_job_of_workers_without_their_name_ends_the_run(runs: Namespace) -> None:
    runs.wait("the run ended", lambda: runs.ended("no-name") == "Failed")
    said = "".join(log(runs, f"no-name-more-0-{index}") for index in (0, 1))  # the first that fails stops the other
    assert re.search(r"the hostname 'no-name-more-0-[01]' is not JOB-node-0-INDEX: which worker is this\?", said)


def test_a_second_job_of_workers_is_a_cluster_of_its_own(runs: Namespace) -> None:
    runs.complete("own-cluster-sound")
    for name in ("node", "more-node"):
        names = [f"own-cluster-sound-{name}-0-{index}" for index in (0, 1)]
        cluster = ", ".join(f"{each}.own-cluster-sound.{runs.name}.svc.{model.DOMAIN}:12345" for each in names)
        assert all(f"starting worker {index} of 2: {cluster}\n" in log(runs, each) for index, each in enumerate(names))


def test_a_second_job_of_workers_waits_for_one_of_its_own(runs: Namespace) -> None:
    runs.wait("it waits", lambda: "1 of 2 workers, waiting for index 1" in log(runs, "own-cluster-more-node-0-0"))
    runs.wait("the other Job is done", lambda: done(runs, "own-cluster", "node") == 1)
    assert runs.ended("own-cluster") == ""


def test_a_run_of_no_nodes_is_complete_at_once(runs: Namespace) -> None:
    runs.complete("no-nodes")
    assert runs.pods("no-nodes") == []


def test_a_second_run_of_a_subdomain_has_no_names(runs: Namespace) -> None:
    both = {"subdomain", "subdomain-2"}
    runs.wait("all pods run", lambda: all(runs.running(name) == 2 for name in both))
    first = runs.get("service", "peers")["spec"]["selector"]["jobset.sigs.k8s.io/jobset-name"]
    (second,) = both - {first}
    runs.wait("the first run's names", lambda: len(addresses(runs, "peers")) == 2)
    assert addresses(runs, "peers") == {pod["status"]["podIP"] for pod in runs.pods(first)}
    assert [each["metadata"]["name"] for each in runs.items("services", f"--field-selector=metadata.name={second}")] == []


def test_no_job_is_made_of_less_than_no_nodes(runs: Namespace) -> None:
    runs.wait("JobSet says why", lambda: "spec.parallelism: Invalid value: -1" in str(runs.events("minus-nodes")))
    assert jobs(runs, "minus-nodes") == []
    assert runs.ended("minus-nodes") == ""


def test_an_initializer_without_the_label_is_not_told_what_to_fetch(runs: Namespace) -> None:
    def variables(run: str) -> dict[str, str]:
        runs.wait("it has fetched", lambda: done(runs, run, "dataset-initializer") == 1)
        (job,) = (each for each in jobs(runs, run) if each["metadata"]["name"] == f"{run}-dataset-initializer-0")
        (container,) = job["spec"]["template"]["spec"]["containers"]
        return {each["name"]: each["value"] for each in container.get("env", [])}

    assert variables("unlabelled-sound")["STORAGE_URI"] == "s3://bucket/data"
    assert "STORAGE_URI" not in variables("unlabelled")


@pytest.mark.parametrize("name", REFUSED)
def test_an_initializer_that_the_runtime_does_not_have_is_refused(name: str, runs: Namespace, tmp_path: Path, opa: Evaluator) -> None:
    told(name, fetches(name), tmp_path, opa)
    (run,) = (each for each in made(name, runs.name, of=fetches(name)) if each["kind"] == "TrainJob")
    assert REFUSED[name][0] in refusal(runs.cluster, [run])
    del run["spec"]["initializer"]
    assert refusal(runs.cluster, [run]) == ""


def test_kueues_own_patch_is_refused(runs: Namespace) -> None:
    (run,) = (each for each in made("itself", runs.name, of=FAULTS["itself"]) if each["kind"] == "TrainJob")
    run["metadata"] = {"name": "copied", "namespace": runs.name}  # no queue label: Kueue adds its entry to every TrainJob
    run["spec"]["runtimePatches"].append({"manager": "kueue.x-k8s.io/manager", "trainingRuntimeSpec": {"template": {"spec": {}}}})
    assert 'Duplicate value: {"manager":"kueue.x-k8s.io/manager"}' in refusal(runs.cluster, [run])


@pytest.mark.parametrize("case", JOBSETS, ids=lambda case: str(case["name"]))
def test_what_jobset_refuses(case: Manifest, cluster: Cluster) -> None:
    text = (ROOT / "tests/rules/valid/jobset.yaml").read_text(encoding="utf-8")
    (jobset,) = (each for each in yaml.safe_load_all(edited(text, case["edits"])) if each["kind"] == "JobSet")
    jobset["metadata"]["namespace"] = "default"
    said = refusal(cluster, [jobset])
    assert ('The JobSet "flood-5" is invalid' in said) == bool(case["expect"]), (
        said
    )  # by the webhook: the gate finds no fault of its schema


# --- what is looked at ------------------------------------------------------------------------------------------


def found(objects: list[Manifest], file: Path, opa: Evaluator) -> set[str]:
    """The rules that say something of these objects in the lab's cluster."""
    return {finding.rule for finding in findings([*surroundings("somewhere"), *objects], file, opa)}


def told(name: str, fault: Fault, folder: Path, opa: Evaluator, around: Sequence[Manifest] = ()) -> None:
    """The gate tells what the edits of a fault change, and nothing else; `around`: further objects of the namespace."""
    sound = found([*around, *made(name, "somewhere", sound=True, of=fault)], folder / "sound.yaml", opa)
    assert not sound & fault.rules
    assert found([*around, *made(name, "somewhere", of=fault)], folder / "fault.yaml", opa) - sound == fault.rules


def fetches(name: str) -> Fault:
    """The fault of a run whose runtime lacks what its initializer needs."""
    return Fault(rules={"trainer/initializers"}, given=FETCHES, edits=REFUSED[name][1])


def ended(runs: Namespace, run: str, container: str) -> list[int]:
    """With what the containers of that name have ended in a run's pods."""
    states = [each for pod in runs.pods(run) for each in pod["status"].get("containerStatuses", []) if each["name"] == container]
    return [each["state"]["terminated"]["exitCode"] for each in states if "terminated" in each["state"]]


def uid(runs: Namespace, run: str) -> str:
    """That of the run's JobSet as long as there is one."""
    return next((str(each["metadata"]["uid"]) for each in runs.items("jobsets", f"--field-selector=metadata.name={run}")), "")


def pod_of(pod: Manifest) -> str:
    """The JobSet that a pod is of."""
    return str(pod["metadata"]["labels"]["jobset.sigs.k8s.io/jobset-uid"])


def jobs(runs: Namespace, run: str) -> list[Manifest]:
    return runs.items("jobs", f"--selector=jobset.sigs.k8s.io/jobset-name={run}")


def done(runs: Namespace, run: str, name: str) -> int:
    """How many Jobs of a replicatedJob have succeeded."""
    known = [
        each
        for each in runs.items("jobsets", f"--field-selector=metadata.name={run}")
        for each in each.get("status", {}).get("replicatedJobsStatus", [])
    ]
    return sum(each["succeeded"] for each in known if each["name"] == name)


def starts_of(runs: Namespace, prefix: str) -> set[str]:
    """The pods of that prefix of which a container was started."""
    names = {event["involvedObject"]["name"] for event in runs.items("events", "--field-selector=reason=Started")}
    return {name for name in names if name.startswith(prefix)}


def log(runs: Namespace, pod: str) -> str:
    """What the container of a pod has written; the pod's name is given without its random end."""
    names = [each["metadata"]["name"] for each in runs.items("pods") if each["metadata"]["name"].startswith(f"{pod}-")]
    started = [each for each in names if any(event.startswith("Started") for event in runs.events(each))]
    return "".join(runs.kubectl("logs", each, "--tail=-1") for each in started)


def addresses(runs: Namespace, service: str) -> set[str]:
    """What the names of a Service's pods resolve to."""
    slices = runs.items("endpointslices", f"--selector=kubernetes.io/service-name={service}")
    return {address for each in slices for endpoint in each.get("endpoints") or [] for address in endpoint["addresses"]}
