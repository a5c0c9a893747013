"""The steps of the tour: what each shows and why, how it is done, and how a cluster and a file are known to be right.

`state` and `written` are what the tour verifies itself with, and what `--check` tells a learner.
"""

from __future__ import annotations

import functools
import json
import re
import shlex
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import yaml

from gate.model import Manifest, get
from gate.why.snapshot import condition, label, name
from lab.tour.look import GPU, INDEX, NAMESPACE, QUEUE, ROLE, Look, admitted, attempts, held, roles, running, shape

if TYPE_CHECKING:
    from lab.tour.guide import Guide

_COUNTS = "--output=custom-columns=JOBSET:.metadata.name,RESTARTS:.status.restarts,STATE:.status.terminalState"
_ATTEMPTS = ("get", "pods", "--label-columns=jobset.sigs.k8s.io/restart-attempt")


class Step:
    """One step. The docstring of each is its title, and what a person is told before it is done."""

    name: ClassVar[str]
    manifests: ClassVar[tuple[str, ...]] = ()  # files of the tour's folder, in the order in which they are applied
    writes: ClassVar[str] = ""  # the file that is left
    needs: ClassVar[tuple[str, ...]] = ()  # names of the steps whose objects it uses
    about: ClassVar[tuple[str, ...]] = ()  # the JobSets and TrainJobs that are asked when it fails
    shows: ClassVar[tuple[tuple[str, ...], ...]] = ()  # words of kubectl, once it is done
    projects: ClassVar[dict[str, str]] = {}  # what it needs besides JobSet and Kueue, by API group
    queued: ClassVar[bool] = False  # it goes through a queue: the GPUs that are given out there have to be free

    def title(self) -> str:
        return (type(self).__doc__ or "").partition("\n")[0]

    def explanation(self) -> str:
        return " ".join((type(self).__doc__ or "").partition("\n")[2].split())

    def start(self, guide: Guide) -> None:
        """Does it, up to the point where the cluster has to follow."""
        for manifest in self.manifests:
            guide.apply(manifest)

    def state(self, look: Look) -> Iterable[str]:
        """What the cluster lacks."""
        return ()

    def write(self, guide: Guide, look: Look) -> str:
        """What is written into the file."""
        return guide.manifest(self.manifests[0])

    def written(self, text: str, look: Look) -> Iterable[str]:
        """What is wrong with the file."""
        return ()

    def tell(self, guide: Guide) -> None:
        """Says more, once it is done."""

    def finish(self, guide: Guide) -> None:
        """Removes what no later step is about."""


class _JobSet(Step):
    """A step that makes one JobSet."""

    jobset: ClassVar[str]
    pods: ClassVar[dict[str, int]]  # by role
    gpus: ClassVar[int] = 0  # of each pod

    def state(self, look: Look) -> Iterator[str]:
        found = look.one("JobSet", self.jobset)
        if found is None:
            yield f"there is no JobSet {self.jobset} in namespace {NAMESPACE}"
            return
        yield from self.shape(found)
        yield from self.behaviour(found, look)

    def shape(self, jobset: Manifest) -> Iterator[str]:
        yield from shape(jobset, self.pods, self.gpus)

    def behaviour(self, jobset: Manifest, look: Look) -> Iterator[str]:
        raise NotImplementedError

    def written(self, text: str, look: Look) -> Iterator[str]:
        if not self.manifests or self.writes != self.manifests[0]:
            return
        try:
            documents = [each for each in yaml.safe_load_all(text) if isinstance(each, dict)]
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            yield f"{self.writes} is no YAML: {' '.join(str(error).split())}"
            return
        mine = [each for each in documents if each.get("kind") == "JobSet" and name(each) == self.jobset]
        if not mine:
            yield f"{self.writes} holds no JobSet {self.jobset}"
        for each in mine:
            yield from (f"{self.writes}: {fault}" for fault in self.shape(each))

    def _running(self, look: Look) -> Iterator[str]:
        wanted, found = sum(self.pods.values()), running(look.pods(self.jobset))
        if found != wanted:
            yield f"{found} of {wanted} pods of {self.jobset} run"


class Hello(_JobSet):
    """Two roles, three pods

    A JobSet is a list of replicatedJobs, which are its roles. Each makes `replicas` Jobs, named JOBSET-ROLE-INDEX, and each Job
    as many pods as its parallelism. A gang of workers is one Job with many pods (replicas 1), as Trainer makes it: a worker's
    number is its completion index then.
    """

    name = "1"
    manifests = ("hello.yaml",)
    writes = "hello.yaml"
    about = ("hello",)
    jobset = "hello"
    pods: ClassVar = {"leader": 1, "worker": 2}
    shows = (("get", "jobsets,jobs"), ("get", "pods", f"--label-columns={ROLE},{INDEX}"))

    def behaviour(self, jobset: Manifest, look: Look) -> Iterator[str]:
        if label(jobset, QUEUE):
            yield "hello has a queue label, and shall have none: without it no queue holds it"
        yield from self._running(look)


class Dns(Step):
    """How the pods find one another

    JobSet makes one headless Service, named like the JobSet, and gives every pod a host name: JOBSET-ROLE-JOB-INDEX. Together
    that is a name in DNS which outlives the pod, and which a worker knows before the other is there: TF_CONFIG is made of such
    names. They are looked up here from inside a worker.
    """

    name = "2"
    needs = ("1",)
    writes = "dns.txt"
    about = ("hello",)
    shows = (("get", "services"), ("get", "pods", "--output=wide"))
    host = f"hello-leader-0-0.hello.{NAMESPACE}.svc.cluster.local"

    def state(self, look: Look) -> Iterator[str]:
        if not _address(look):
            yield "the leader of hello has no address yet" if look.pods("hello", "leader") else "hello has no leader to look up"
        if not running(look.pods("hello", "worker")):
            yield "no worker of hello runs, from which it could be looked up"

    def write(self, guide: Guide, look: Look) -> str:
        told, words = "", ("exec", name(look.pods("hello", "worker")[0]), "--", "sh", "-c", f"nslookup -type=a {self.host}. 2>&1 || true")

        def asked() -> str:
            nonlocal told
            told = guide.kubectl(*words)
            return "" if _address(guide.look()) in _words(told) else " ".join(told.split()) or "no answer"

        guide.until(f"the name {self.host} in DNS", asked)
        guide.say(f"asked in the worker: {shlex.join(words[2:])}")
        return told

    def written(self, text: str, look: Look) -> Iterator[str]:
        address = _address(look)
        if address and address not in _words(text):
            yield f"dns.txt does not have {address}, the address of the leader's pod now: look {self.host} up from inside a worker"


def _address(look: Look) -> str:
    return next((str(get(each, ("status", "podIP"), "")) for each in look.pods("hello", "leader")), "")


def _words(text: str) -> set[str]:
    return {each.rstrip(".") for each in re.split(r"[^0-9A-Za-z.:-]+", text)}


class Labels(Step):
    """How a pod knows who it is

    Everything that a worker has to know of its place stands in labels, which the downward API turns into variables: the JobSet,
    the role, which of the role's Jobs, and the completion index in that Job. tfrun makes TF_CONFIG's task index of the same.
    """

    name = "3"
    needs = ("1",)
    writes = "labels.txt"
    about = ("hello",)
    shows = (("get", "pods", f"--selector={ROLE}=worker,{INDEX}=1", "--show-labels"),)
    keys = ("jobset.sigs.k8s.io/jobset-name", ROLE, "jobset.sigs.k8s.io/job-index", INDEX)

    def state(self, look: Look) -> Iterator[str]:
        if not self._worker(look):
            yield "hello has no worker with completion index 1"

    def write(self, guide: Guide, look: Look) -> str:
        return "".join(f"{key}={value}\n" for key, value in self._wanted(look).items())

    def written(self, text: str, look: Look) -> Iterator[str]:
        found = dict(each.strip().partition("=")[::2] for each in re.split(r"[\s,]+", text) if "=" in each)
        given = {key.rpartition("/")[2]: value.strip("\"'") for key, value in found.items()}
        for key, value in self._wanted(look).items():
            has = given.get(key.rpartition("/")[2])
            if has is None:
                yield f"labels.txt lacks {key}={value}"
            elif has != value:
                yield f"labels.txt has {key}={has}, and the worker with completion index 1 has {value}"

    def _worker(self, look: Look) -> Manifest | None:
        return next((each for each in look.pods("hello", "worker") if label(each, INDEX) == "1"), None)

    def _wanted(self, look: Look) -> dict[str, str]:
        worker = self._worker(look)
        return {key: label(worker, key) for key in self.keys} if worker else {}


class Fragile(_JobSet):
    """One fails, all begin again

    With backoffLimit 0 a failed pod fails its Job, and a failed Job is what JobSet counts: it deletes all Jobs, of every role, and
    makes them again, `maxRestarts` times at most. Afterwards every pod is a new one, with the number of the attempt in a label. For
    TensorFlow this is the only restart that works: workers cannot take back one that comes alone.
    """

    name = "4"
    manifests = ("fragile.yaml",)
    writes = "restart.txt"
    about = ("fragile",)
    jobset = "fragile"
    pods: ClassVar = {"leader": 1, "worker": 1}
    shows = (("get", "jobset", "fragile", _COUNTS), (*_ATTEMPTS, "--selector=jobset.sigs.k8s.io/jobset-name=fragile"))

    def shape(self, jobset: Manifest) -> Iterator[str]:
        yield from super().shape(jobset)
        most = get(jobset, ("spec", "failurePolicy", "maxRestarts"), 0)
        if most != 2:
            yield f"fragile: failurePolicy.maxRestarts is {most}, and shall be 2"
        for role in get(jobset, ("spec", "replicatedJobs"), []) or []:
            limit = get(role, ("template", "spec", "backoffLimit"))
            if role.get("name") == "worker" and limit != 0:
                has = "not set" if limit is None else limit
                yield f"fragile: backoffLimit of worker is {has}, and shall be 0, or its Job replaces it alone"

    def start(self, guide: Guide) -> None:
        super().start(guide)
        guide.until("the pods of fragile", lambda: "; ".join(self._running(guide.look())))
        if _restarts(guide.look().one("JobSet", "fragile")):
            return  # it has failed already: the tour was begun earlier
        guide.run("exec", name(guide.look().pods("fragile", "worker")[0]), "--", "touch", "/tmp/fail")  # noqa: S108

    def behaviour(self, jobset: Manifest, look: Look) -> Iterator[str]:
        count = _restarts(jobset)
        if condition(jobset, "Failed"):
            yield "fragile has failed for good, after more failures than maxRestarts: delete it and apply it again"
        elif not count:
            yield "fragile was never restarted (status.restarts is 0): let its worker fail: kubectl exec POD -- touch /tmp/fail"
        elif old := attempts(look.pods("fragile")) - {count}:
            yield f"fragile has pods of attempt {', '.join(map(str, sorted(old)))}, and shall have only those of attempt {count}"
        else:
            yield from self._running(look)

    def write(self, guide: Guide, look: Look) -> str:
        return f"restarts={_restarts(look.one('JobSet', 'fragile'))}\n"

    def written(self, text: str, look: Look) -> Iterator[str]:
        wanted = f"restarts={_restarts(look.one('JobSet', 'fragile'))}"
        if "".join(text.split()) != wanted:
            yield f"restart.txt says {text.strip()[:80]!r}, and status.restarts of fragile makes it {wanted}"


def _restarts(jobset: Manifest | None) -> int:
    return int(get(jobset, ("status", "restarts"), 0) or 0)


class Eval(_JobSet):
    """Done when the leader is done

    By default a JobSet is complete when all of its Jobs are. A successPolicy names the roles that count, and whether Any or All of
    them: here the leader alone, so that the workers, which never end by themselves, are stopped with it. Without such a policy
    they would hold their devices for ever.
    """

    name = "5"
    manifests = ("eval.yaml",)
    about = ("eval",)
    jobset = "eval"
    pods: ClassVar = {"leader": 1, "worker": 2}
    shows = (("get", "jobset", "eval", _COUNTS),)

    def shape(self, jobset: Manifest) -> Iterator[str]:
        yield from super().shape(jobset)
        operator = get(jobset, ("spec", "successPolicy", "operator"), "All")
        targets = get(jobset, ("spec", "successPolicy", "targetReplicatedJobs")) or list(roles(jobset))
        if operator != "Any" or targets != ["leader"]:
            yield f"eval: its successPolicy is {operator} of {', '.join(targets)}, and shall be Any of leader"

    def behaviour(self, jobset: Manifest, look: Look) -> Iterator[str]:
        if not condition(jobset, "Completed"):
            yield "eval is not Completed"
        elif pods := running(look.pods("eval")):
            yield f"{pods} pods of eval still run"


class _Queued(_JobSet):
    """A JobSet in the queue."""

    gpus = 1
    queued = True

    def shape(self, jobset: Manifest) -> Iterator[str]:
        yield from super().shape(jobset)
        queue = label(jobset, QUEUE)
        inside = [
            role.get("name")
            for role in get(jobset, ("spec", "replicatedJobs"), []) or []
            for at in (("template",), ("template", "spec", "template"))
            if get(role, (*at, "metadata", "labels", QUEUE))
        ]
        if queue != "lq" and inside:
            yield f"{self.jobset}: the queue label stands in a template of {inside[0]}, where it queues nothing: it belongs on the JobSet"
        elif queue != "lq":
            yield f"{self.jobset}: the label {QUEUE} on the JobSet is {queue or 'not set'}, and shall be lq"

    def state(self, look: Look) -> Iterator[str]:
        yield from _queue(look)
        yield from super().state(look)


def _queue(look: Look) -> Iterator[str]:
    """What is wrong with the queue itself."""
    local, shared = look.one("LocalQueue", "lq"), look.one("ClusterQueue", NAMESPACE)
    if local is None:
        yield f"there is no LocalQueue lq in namespace {NAMESPACE}: apply setup.yaml"
    elif (leads := get(local, ("spec", "clusterQueue"))) != NAMESPACE:
        yield f"LocalQueue lq leads to the ClusterQueue {leads}, and shall lead to {NAMESPACE}"
    if shared is None:
        yield f"there is no ClusterQueue {NAMESPACE}: apply setup.yaml"
        return
    groups = get(shared, ("spec", "resourceGroups"), []) or []
    quotas = [one for group in groups for flavor in group.get("flavors", []) for one in flavor.get("resources", [])]
    given = [str(each.get("nominalQuota")) for each in quotas if each.get("name") == GPU]
    if given != ["3"]:
        yield f"ClusterQueue {NAMESPACE} has a quota of {' and '.join(given) or 'no'} {GPU}, and shall have 3"
    if inactive := condition(shared, "Active", "False"):
        yield f"ClusterQueue {NAMESPACE} is not active: {inactive.get('message')}"


class Train(_Queued):
    """All or nothing

    With the queue label on the JobSet, Kueue suspends it as it is made and looks at it as one Workload: a pod set for each role, with
    its number of pods. Only when there is quota for all of them is it admitted and let go. Quota is not room: Kueue counts what a
    queue may have, and does not look at nodes.
    """

    name = "6"
    manifests = ("train.yaml",)
    writes = "train.yaml"
    about = ("train",)
    jobset = "train"
    pods: ClassVar = {"leader": 1, "worker": 2}
    shows = (("get", "workloads"), ("get", "pods", "--selector=jobset.sigs.k8s.io/jobset-name=train"))

    def behaviour(self, jobset: Manifest, look: Look) -> Iterator[str]:
        workload = look.workload(jobset)
        if workload is None:
            yield "Kueue has made no Workload for train"
            return
        sets = {str(each.get("name")): int(each.get("count", 0)) for each in get(workload, ("spec", "podSets"), []) or []}
        if sets != self.pods:
            yield f"the Workload of train has the pod sets {_listed(sets)}, and shall have {_listed(self.pods)}"
        if not admitted(workload):
            yield f"the Workload of train is not admitted: {held(workload) or 'Kueue has not looked at it yet'}"
        else:
            yield from self._running(look)


def _listed(sets: dict[str, int]) -> str:
    return ", ".join(f"{role} {count}" for role, count in sorted(sets.items())) or "none"


class Big(_Queued):
    """More than the queue will ever have

    Five GPUs of a quota of three: the JobSet stays suspended and there is no pod of it, not a part of them. Who only looks at pods
    sees nothing; the reason stands in the Workload. It would wait for ever, and nothing ever says that it is an error, which is why
    the gate refuses it before merge.
    """

    name = "7"
    manifests = ("big.yaml",)
    writes = "big.txt"
    about = ("big",)
    jobset = "big"
    pods: ClassVar = {"leader": 1, "worker": 4}
    shows = (("get", "jobset", "big", "--output=custom-columns=JOBSET:.metadata.name,SUSPENDED:.spec.suspend"), ("get", "workloads"))

    def behaviour(self, jobset: Manifest, look: Look) -> Iterator[str]:
        if not get(jobset, ("spec", "suspend")):
            yield "big is not suspended"
        if pods := look.pods("big"):
            yield f"big has {len(pods)} pods, and shall have none"
        workload = look.workload(jobset)
        if workload is None:
            yield "Kueue has made no Workload for big"
        elif admitted(workload):
            yield "the Workload of big is admitted"
        elif not held(workload):
            yield "the Workload of big does not say yet why it waits"

    def write(self, guide: Guide, look: Look) -> str:
        return f"{_waits(look, 'big')}\n"

    def written(self, text: str, look: Look) -> Iterator[str]:
        reason = _waits(look, "big")
        if reason and reason not in " ".join(text.split()):
            yield f"big.txt does not have the Workload's reason, which is: {reason}"


def _waits(look: Look, jobset: str) -> str:
    found = look.one("JobSet", jobset)
    return held(look.workload(found)) if found else ""


class Report(Step):
    """What the cluster says of all of them

    The same three questions are what to ask of a real cluster: which queued JobSets has Kueue admitted, which are suspended, how often
    was one restarted.
    """

    name = "8"
    needs = ("4", "6", "7")
    writes = "report.json"
    about = ("train", "big", "fragile")
    shows = (("get", "jobsets,workloads"),)

    def write(self, guide: Guide, look: Look) -> str:
        return json.dumps(report(look), indent=2) + "\n"

    def written(self, text: str, look: Look) -> Iterator[str]:
        try:
            given: Any = json.loads(text)
        except (ValueError, RecursionError) as error:
            yield f"report.json is no JSON: {error}"
            return
        if not isinstance(given, dict):
            yield "report.json is no JSON object"
            return
        for key, value in report(look).items():
            has = given.get(key)
            same = sorted(map(str, has)) == value if isinstance(has, list) and isinstance(value, list) else has == value
            if key not in given:
                yield f"report.json lacks {key}: {json.dumps(value)}"
            elif not same:
                yield f"report.json: {key} is {json.dumps(has)[:200]}, and the cluster says {json.dumps(value)}"


def report(look: Look) -> dict[str, Any]:
    """Names of the queued JobSets that Kueue has admitted, of those that are suspended, and how often fragile was restarted."""
    mine = [each for each in look.all("JobSet") if not get(each, ("metadata", "ownerReferences"))]
    return {
        "admitted": sorted(name(each) for each in mine if label(each, QUEUE) and admitted(look.workload(each))),
        "suspended": sorted(name(each) for each in mine if get(each, ("spec", "suspend"))),
        "fragile_restarts": _restarts(look.one("JobSet", "fragile")),
    }


class BackoffLimit(Step):
    """A mistake: backoffLimit left out

    A Job may then fail six times. With restartPolicy Never the Job replaces its failed pod by another one; with OnFailure, which JobSet
    fills in where nothing is written, the kubelet starts the container again in the same pod. Either way one worker is back
    alone, the others wait for the one that they knew, all of them hold their GPUs, and JobSet counts no restart.
    """

    name = "backoff-limit"
    queued = True
    manifests = ("mistakes/replaced-alone.yaml", "mistakes/restarted-in-place.yaml")
    about = ("replaced-alone", "restarted-in-place")
    shows = (("get", "jobsets", "replaced-alone", "restarted-in-place", _COUNTS), ("get", "jobs"), _ATTEMPTS)

    def start(self, guide: Guide) -> None:
        for manifest in self.manifests:
            guide.judge(manifest)
        super().start(guide)
        for jobset in self.about:
            guide.until(f"the pods of {jobset}", functools.partial(_not_both, guide, jobset))
            guide.run("exec", name(guide.look().pods(jobset)[1]), "--", "touch", "/tmp/fail")  # noqa: S108

    def state(self, look: Look) -> Iterator[str]:
        for jobset in self.about:
            if count := _restarts(look.one("JobSet", jobset)):
                yield f"{jobset} was restarted {count} times as a whole"
            if running(look.pods(jobset)) != 2:
                yield f"{running(look.pods(jobset))} of 2 pods of {jobset} run"
        if not _failures(look, "replaced-alone"):
            yield "no pod of replaced-alone has failed"
        if not _in_place(look, "restarted-in-place"):
            yield "no container of restarted-in-place was started again"
        if _failures(look, "restarted-in-place"):
            yield "a pod of restarted-in-place has failed"

    def finish(self, guide: Guide) -> None:
        guide.delete("jobset", *self.about)


def _not_both(guide: Guide, jobset: str) -> str:
    there = running(guide.look().pods(jobset))
    return "" if there == 2 else f"{there} of 2 run"


def _failures(look: Look, jobset: str) -> int:
    return sum(int(get(job, ("status", "failed"), 0) or 0) for job in look.jobs(jobset))


def _in_place(look: Look, jobset: str) -> int:
    found = (get(pod, ("status", "containerStatuses"), []) or [] for pod in look.pods(jobset))
    return sum(int(each.get("restartCount", 0)) for statuses in found for each in statuses)


class QueueLabel(Step):
    """A mistake: the queue label on the Job template

    Kueue reads the label of the object that nothing owns: the TrainJob, or here the JobSet. On the Job template it queues each child Job
    by itself, and not the gang. Here all three GPUs of the queue are taken: Kueue suspends the Job, JobSet, which nobody has
    suspended, starts it again, and so on, so that pods are made and killed without end and take a GPU past the quota for as long as they
    live. Where there is quota, the roles would be admitted one by one.
    """

    name = "queue-label"
    needs = ("6",)
    manifests = ("mistakes/label-on-job.yaml",)
    about = ("label-on-job",)
    shows = (("get", "workloads"), ("get", "events", "--field-selector=involvedObject.name=label-on-job-worker-0"))

    def start(self, guide: Guide) -> None:
        guide.judge(self.manifests[0])
        super().start(guide)

    def state(self, look: Look) -> Iterator[str]:
        jobset = look.one("JobSet", "label-on-job")
        if jobset is None:
            yield "there is no JobSet label-on-job"
            return
        if look.workload(jobset):
            yield "Kueue has made a Workload for label-on-job"
        if not any(look.workload(job) for job in look.jobs("label-on-job")):
            yield "Kueue has not looked at its Job yet"
        made = [each for each in look.all("Event") if each.get("reason") == "SuccessfulCreate"]
        times = sum(int(each.get("count") or 1) for each in made if get(each, ("involvedObject", "name")) == "label-on-job-worker-0")
        if times < 2:
            yield f"its pod was made {times} times so far"

    def tell(self, guide: Guide) -> None:
        guide.why("label-on-job")

    def finish(self, guide: Guide) -> None:
        guide.delete("jobset", *self.about)


class _TrainJobs(Step):
    """The same two gangs as TrainJobs."""

    kind: ClassVar[str]  # where the reason stands
    projects: ClassVar = {"trainer.kubeflow.org": "Trainer"}
    queued = True

    def start(self, guide: Guide) -> None:
        guide.judge(self.manifests[0])
        guide.hold("train")
        super().start(guide)

    def state(self, look: Look) -> Iterator[str]:
        few, many = self.about
        if (there := running(look.pods(few))) != 3:
            yield f"{there} of 3 pods of {few} run"
        if any(get(pod, ("spec", "nodeName")) for pod in look.pods(many)):
            yield f"{many} has pods with a node"
        if not self.reason(look):
            yield f"nothing says yet why {many} waits"

    def reason(self, look: Look) -> str:
        raise NotImplementedError

    def tell(self, guide: Guide) -> None:
        guide.say(f"the reason, in the {self.kind}: {self.reason(guide.look())}")
        guide.why(self.about[1])

    def finish(self, guide: Guide) -> None:
        guide.delete("trainjob", *self.about)
        guide.release("train")


class UnderKueue(_TrainJobs):
    """One step up: TrainJobs under Kueue

    Trainer makes a JobSet of a TrainJob, and the queue label stands on the TrainJob, which Kueue suspends. Three workers are admitted,
    five are held: there is a JobSet of them, suspended like the TrainJob, and no pod. The reason is in the Workload, as before.
    """

    name = "trainjobs-kueue"
    manifests = ("trainjobs/kueue.yaml",)
    about = ("kueue-of-3", "kueue-of-5")
    kind = "Workload"
    shows = (("get", "trainjobs,workloads"), ("get", "pods"))

    def reason(self, look: Look) -> str:
        found = look.one("TrainJob", "kueue-of-5")
        return held(look.workload(found)) if found else ""


class UnderVolcano(_TrainJobs):
    """One step up: TrainJobs under Volcano

    Nothing is suspended: Volcano is a scheduler. Trainer makes a PodGroup of each TrainJob, and Volcano binds all pods of a group or
    none. The reason why five wait is in the events of the PodGroup; TrainJob and JobSet look as if they ran.
    """

    name = "trainjobs-volcano"
    projects: ClassVar = {**_TrainJobs.projects, "scheduling.volcano.sh": "Volcano"}
    manifests = ("trainjobs/volcano.yaml",)
    about = ("volcano-of-3", "volcano-of-5")
    kind = "events of the PodGroup"
    shows = (("get", "trainjobs,podgroups"), ("get", "pods"))

    def reason(self, look: Look) -> str:
        events = [each for each in look.all("Event") if get(each, ("involvedObject", "name")) == "volcano-of-5"]
        said = [" ".join(str(each.get("message", "")).split()) for each in events if each.get("reason") == "Unschedulable"]
        return "; ".join(sorted(set(said), reverse=True)) if any("queue" in each for each in said) else ""


EIGHT: tuple[Step, ...] = (Hello(), Dns(), Labels(), Fragile(), Eval(), Train(), Big(), Report())
BESIDES: tuple[Step, ...] = (BackoffLimit(), QueueLabel(), UnderKueue(), UnderVolcano())
STEPS: tuple[Step, ...] = (*EIGHT, *BESIDES)
