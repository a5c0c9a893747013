"""What is known of one run at one moment: plain objects as the API server gave them, and the ends of logs.

Nothing here asks the cluster: a snapshot can be written to a file, and judged again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from gate.model import Manifest, get

JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"
ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
QUEUE_NAME = "kueue.x-k8s.io/queue-name"


@dataclass(frozen=True, kw_only=True, slots=True)
class Log:
    """The end of a container's log, each line with its time; `previous` is the log of the container's last life."""

    pod: str
    container: str
    previous: bool
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """A TrainJob, or a JobSet without one, and what was read about it.

    `unread` says in words what could not be, `groups` which APIs are there.
    """

    now: datetime
    namespace: str
    name: str
    objects: Sequence[Manifest]
    logs: Sequence[Log] = ()
    unread: Sequence[str] = ()
    groups: Sequence[str] = ()

    def all(self, kind: str) -> list[Manifest]:
        """The objects of a kind, oldest first."""
        return sorted((each for each in self.objects if each.get("kind") == kind), key=lambda each: (created(each), name(each)))

    def one(self, kind: str, called: str, namespace: str | None = None) -> Manifest | None:
        """The object of a kind and name; of one namespace, where that matters."""
        found = (each for each in self.all(kind) if name(each) == called)
        return next((each for each in found if namespace is None or get(each, ("metadata", "namespace")) == namespace), None)

    @property
    def root(self) -> Manifest:
        """What somebody made: the TrainJob, or the JobSet where there is none."""
        found = self.one("TrainJob", self.name, self.namespace) or self.jobset
        assert found is not None
        return found

    @property
    def is_trainjob(self) -> bool:
        return bool(self.root["kind"] == "TrainJob")

    @property
    def runtime_kind(self) -> str:
        return str(get(self.root, ("spec", "runtimeRef", "kind")) or "ClusterTrainingRuntime")

    @property
    def runtime_name(self) -> str:
        return str(get(self.root, ("spec", "runtimeRef", "name"), ""))

    @property
    def runtime(self) -> Manifest | None:
        return self.one(self.runtime_kind, self.runtime_name)

    @property
    def workload(self) -> Manifest | None:
        """Kueue's Workload of it, the newest if there are several."""
        return next((each for each in reversed(self.all("Workload")) if owned(each, self.root)), None)

    @property
    def queue(self) -> str:
        """The LocalQueue that its label names."""
        return str(get(self.root, ("metadata", "labels", QUEUE_NAME), ""))

    @property
    def local_queue(self) -> Manifest | None:
        return self.one("LocalQueue", self.queue, self.namespace)

    @property
    def cluster_queue(self) -> Manifest | None:
        return self.one("ClusterQueue", str(get(self.local_queue, ("spec", "clusterQueue"), "")))

    @property
    def podgroup(self) -> Manifest | None:
        return self.one("PodGroup", self.name, self.namespace)

    @property
    def jobset(self) -> Manifest | None:
        return self.one("JobSet", self.name, self.namespace)

    @property
    def first_start(self) -> datetime:
        """When it was first let go: by its queue, or by being made."""
        resumed = condition(self.root, "Suspended", "False")
        return moment_of(resumed.get("lastTransitionTime")) if resumed else created(self.root)

    @property
    def jobs(self) -> list[Manifest]:
        return self.all("Job")

    @property
    def pods(self) -> list[Manifest]:
        """The pods of this attempt (those that a restart is removing are not), by completion index."""
        newest = max((attempt(each) for each in self.all("Pod")), default=0)
        return sorted((each for each in self.all("Pod") if attempt(each) == newest), key=lambda each: (index(each), created(each)))

    @property
    def workers(self) -> int:
        """How many pods shall train: those of the JobSet's Job that Trainer filled in, or else as many as the TrainJob asks for."""
        jobs = get(self.jobset, ("spec", "replicatedJobs"), [])
        filled = [job for job in jobs if get(job, ("template", "metadata", "labels", ANCESTOR)) == "trainer"]
        jobs = filled or jobs
        wanted = sum(int(job.get("replicas", 1)) * int(get(job, ("template", "spec", "parallelism"), 1) or 1) for job in jobs)
        return wanted or int(get(self.root, ("spec", "trainer", "numNodes"), 1) or 1)

    def unknown(self, plural: str) -> bool:
        """Whether objects of this kind could not be read: that there is none of them then says nothing."""
        return any(re.match(f"could not read {plural}(:| of (?!other))", said) for said in self.unread)

    def events(self, about: Manifest | None = None, *reasons: str) -> list[Manifest]:
        """The events about an object (default: about anything of the run), newest first; of these reasons only, if any is given."""
        uid = get(about, ("metadata", "uid")) if about is not None else None
        found = (each for each in self.all("Event") if about is None or get(each, ("involvedObject", "uid")) == uid)
        return sorted((each for each in found if not reasons or each.get("reason") in reasons), key=seen, reverse=True)

    def log(self, pod: Manifest | None = None, previous: bool | None = None) -> list[Log]:
        """The logs of a pod (default: of all)."""
        return [each for each in self.logs if (pod is None or each.pod == name(pod)) and (previous is None or each.previous == previous)]

    def age(self, since: Any) -> str:
        """How long ago a time, or an object's creation, is: 45 s, 12 min, 3 h, 2 d."""
        moment = created(since) if isinstance(since, dict) else since if isinstance(since, datetime) else moment_of(since)
        seconds = max(0, int((self.now - moment).total_seconds()))
        for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
            if seconds >= 2 * size:
                return f"{seconds // size} {unit}"
        return f"{seconds} s"

    def older(self, since: Any, seconds: float) -> bool:
        """Whether a time (or an object) lies further back than so many seconds."""
        moment = created(since) if isinstance(since, dict) else moment_of(since)
        return self.now - moment > timedelta(seconds=seconds)

    def dump(self) -> Manifest:
        """As JSON."""
        return {
            "now": self.now.isoformat(),
            "namespace": self.namespace,
            "name": self.name,
            "groups": list(self.groups),
            "unread": list(self.unread),
            "logs": [{"pod": each.pod, "container": each.container, "previous": each.previous, "text": each.text} for each in self.logs],
            "objects": list(self.objects),
        }

    @classmethod
    def load(cls, dumped: Manifest) -> Snapshot:
        """What `dump` made."""
        logs = [Log(**each) for each in dumped["logs"]]
        return cls(**{**dumped, "now": datetime.fromisoformat(dumped["now"]), "logs": logs})


_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


def moment_of(text: Any) -> datetime:
    """A time as the API writes it; the beginning of time where there is none."""
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return _NEVER
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def created(manifest: Manifest) -> datetime:
    return moment_of(get(manifest, ("metadata", "creationTimestamp")))


def seen(event: Manifest) -> datetime:
    """When an event was last seen."""
    series = get(event, ("series", "lastObservedTime"))
    return moment_of(series or event.get("lastTimestamp") or event.get("eventTime") or get(event, ("metadata", "creationTimestamp")))


def name(manifest: Manifest | None) -> str:
    return str(get(manifest, ("metadata", "name"), ""))


def owned(manifest: Manifest, owner: Manifest) -> bool:
    owners = get(manifest, ("metadata", "ownerReferences"), []) or []
    return any(each.get("uid") == get(owner, ("metadata", "uid")) for each in owners)


def label(manifest: Manifest, key: str) -> str:
    return str(get(manifest, ("metadata", "labels", key), ""))


def index(pod: Manifest) -> int:
    """The completion index: the worker's number."""
    text = label(pod, "batch.kubernetes.io/job-completion-index")
    return int(text) if text.isdecimal() else 0


def attempt(manifest: Manifest) -> int:
    text = label(manifest, "jobset.sigs.k8s.io/restart-attempt")
    return int(text) if text.isdecimal() else 0


def condition(manifest: Manifest | None, kind: str, status: str = "True") -> Manifest | None:
    """A condition of an object, if it has this status."""
    found: Iterable[Manifest] = get(manifest, ("status", "conditions"), []) or []
    return next((each for each in found if each.get("type") == kind and each.get("status") == status), None)


def statuses(pod: Manifest) -> list[Manifest]:
    """The states of a pod's containers, init containers first."""
    return [each for key in ("initContainerStatuses", "containerStatuses") for each in (get(pod, ("status", key), []) or [])]


def phase(pod: Manifest) -> str:
    return str(get(pod, ("status", "phase"), "Unknown"))
