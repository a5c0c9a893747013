"""Records what `gate why` reads about a TrainJob as a fixture:

python -m tests.why.record KUBECONFIG NAMESPACE TRAINJOB[=FIXTURE]…    writes tests/why/fixtures/FIXTURE.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from gate.model import get
from gate.why import cluster, collect, snapshot

FIXTURES = Path(__file__).parent / "fixtures"


def lean(found: snapshot.Snapshot) -> dict[str, Any]:
    """The snapshot without what belongs to others who share the cluster."""
    kueue, volcano = snapshot.name(found.cluster_queue), str(get(found.podgroup, ("spec", "queue"), "")) or None
    kept = []
    for each in found.objects:
        kind, called = each["kind"], snapshot.name(each)
        others = {
            "LocalQueue": called != found.queue,
            "ClusterQueue": called != kueue,
            "Queue": called != volcano,
            "PodGroup": get(each, ("spec", "queue")) != volcano,
            "Workload": not snapshot.owned(each, found.root) and (get(each, ("status", "admission", "clusterQueue")) or "none") != kueue,
        }
        if others.get(kind):
            continue
        if kind == "WorkloadPriorityClass" and called not in found.root["metadata"].get("labels", {}).values():
            continue
        each["metadata"].get("annotations", {}).pop("kubectl.kubernetes.io/last-applied-configuration", None)
        if kind == "Node":
            each["status"] = {key: each["status"][key] for key in ("allocatable", "conditions")}
            each["metadata"].pop("annotations", None)
        if kind == "Deployment":
            each["spec"] = {"replicas": each["spec"]["replicas"]}
            each["metadata"].pop("annotations", None)
        kept.append(each)
    return {**found.dump(), "objects": kept}


def record(found: snapshot.Snapshot, fixture: str) -> None:
    """One object a line, so that differences can be read."""
    document = lean(found)
    objects = ",\n".join(json.dumps(each, sort_keys=True) for each in document.pop("objects"))
    FIXTURES.mkdir(exist_ok=True)
    head = json.dumps(document, indent=1)[:-2]
    (FIXTURES / f"{fixture}.json").write_text(f'{head},\n "objects": [\n{objects}\n]}}\n', encoding="utf-8")


def main(kubeconfig: str, namespace: str, *names: str) -> None:
    connection = cluster.connect(Path(kubeconfig))
    for each in names:
        trainjob, _, fixture = each.partition("=")
        record(collect.one(connection, namespace, trainjob), fixture or trainjob)


if __name__ == "__main__":
    main(*sys.argv[1:])
