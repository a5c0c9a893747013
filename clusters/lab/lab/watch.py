"""What runs and what waits, as it moves: applications, queues, and runs with their progress."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Console
from rich.live import Live
from rich.table import Table

from gate.model import GateError
from lab import gitops, system
from lab.model import Lab

EVERY = 2.0  # seconds between two looks
_KINDS = (
    "applications.argoproj.io",
    "clusterqueues.kueue.x-k8s.io",
    "queues.scheduling.volcano.sh",
    "trainjobs.trainer.kubeflow.org",
    "workloads.kueue.x-k8s.io",
    "podgroups.scheduling.volcano.sh",
)
_ENDS = ("Complete", "Failed")


class Row(NamedTuple):
    """One thing, and what there is to say of it."""

    kind: str
    name: str
    state: str
    more: str


def watch(lab: Lab, console: Console, *, until_done: bool) -> bool:
    """Shows what moves, as a table in a terminal and as lines elsewhere, until it is done or interrupted. False if anything failed."""
    before: Sequence[Row] = ()
    with Live(console=console, auto_refresh=False) if console.is_terminal else contextlib.nullcontext() as live:
        while True:
            try:
                items, fault = _look(lab), ""
            except GateError as error:
                items, fault = [], str(error)
            now = [Row("lab", "", "silent", fault)] if fault else rows(items)
            if live:
                live.update(_table(now), refresh=True)
            else:
                for row in now:
                    if row not in before:
                        console.print(f"{time.strftime('%H:%M:%S')} {' '.join(filter(None, row))}", highlight=False, soft_wrap=True)
            if until_done and not fault and not gitops.not_deployed(lab) and all(row.state in _ENDS for row in now if row.kind == "run"):
                return not any(row.state in ("Failed", "failed") for row in now)
            before = now
            time.sleep(EVERY)


def rows(items: Sequence[Mapping[str, Any]]) -> list[Row]:
    """What Kubernetes says of these objects, in the order in which things happen."""
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for item in items:
        kinds.setdefault(item["kind"], []).append(item)
    waits = {owner: why for each in (*kinds.get("Workload", ()), *kinds.get("PodGroup", ())) for owner, why in _waiting(each)}
    found = [Row("application", _name(each), *_application(each)) for each in kinds.get("Application", ())]
    found += [Row("Kueue queue", _name(each), *_cluster_queue(each)) for each in kinds.get("ClusterQueue", ())]
    found += [Row("Volcano queue", _name(each), *_queue(each)) for each in kinds.get("Queue", ())]
    return found + [Row("run", _name(each), *_run(each, waits)) for each in kinds.get("TrainJob", ())]


def _look(lab: Lab) -> list[dict[str, Any]]:
    found = json.loads(system.kubectl(lab, "get", ",".join(_KINDS), "--all-namespaces", "--output=json"))
    items: list[dict[str, Any]] = found["items"]
    return items


def _table(now: Sequence[Row]) -> Table:
    table = Table("", "", "state", "", box=None)
    for row in now:
        table.add_row(*row)
    return table


def _application(each: Mapping[str, Any]) -> tuple[str, str]:
    sync, health, said = gitops.state(each)
    return "failed" if gitops.has_failed(each) else f"{sync or 'new'} {health}".strip(), said


def _cluster_queue(each: Mapping[str, Any]) -> tuple[str, str]:
    status = each.get("status", {})
    used = [
        f"{use['name']} {use['total']}" for flavor in status.get("flavorsUsage", []) for use in flavor["resources"] if use["total"] != "0"
    ]
    state = f"{status.get('admittedWorkloads', 0)} admitted, {status.get('pendingWorkloads', 0)} waiting"
    return state, ", ".join(used)


def _queue(each: Mapping[str, Any]) -> tuple[str, str]:
    status = each.get("status", {})
    used = [f"{name} {amount}" for name, amount in status.get("allocated", {}).items() if amount not in ("0", "0m")]
    return status.get("state", "new"), ", ".join(used)


def _run(each: Mapping[str, Any], waits: Mapping[tuple[str, str], str]) -> tuple[str, str]:
    """Its state is the condition that ends it, else whether it waits or trains."""
    status = each.get("status", {})
    ended = next((one for one in status.get("conditions", []) if one["type"] in _ENDS and one["status"] == "True"), None)
    told = status.get("trainerStatus", {})
    progress = [f"{told['progressPercentage']} %"] if "progressPercentage" in told else []
    progress += [f"{metric['name']} {metric['value']}" for metric in told.get("metrics", [])]
    if ended:
        return ended["type"], ", ".join(progress if ended["type"] == "Complete" else [ended.get("message", ""), *progress])
    why = waits.get((each["metadata"].get("namespace", ""), each["metadata"]["name"]), "")
    if why or each["spec"].get("suspend"):
        return "waits", why
    ready = any(job.get("ready", 0) for job in status.get("jobsStatus", []))  # a job with all its pods: active ones may have no node
    return "trains" if ready else "starts", ", ".join(progress)


def _waiting(each: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], str]]:
    """The TrainJob that a Workload or PodGroup belongs to, and why it is held."""
    meta, status = each["metadata"], each.get("status", {})
    owner = next((one["name"] for one in meta.get("ownerReferences", []) if one["kind"] == "TrainJob"), "")
    conditions = {one["type"]: one for one in status.get("conditions", [])}
    if each["kind"] == "Workload":
        held = "Finished" not in conditions and conditions.get("Admitted", {}).get("status") != "True"
        why = conditions.get("QuotaReserved", {}).get("message") or "not admitted yet"
    else:
        held = status.get("phase") in ("Pending", "Inqueue")
        why = conditions.get("Unschedulable", {}).get("message") or "its gang is not placed yet"
    if owner and held:
        yield (meta["namespace"], owner), " ".join(why.split())


def _name(each: Mapping[str, Any]) -> str:
    name: str = each["metadata"]["name"]
    return f"{each['metadata']['namespace']}/{name}" if each["kind"] == "TrainJob" else name
