"""A worker's index comes from where Trainer and tfrun put it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gate.model import Rule, Severity
from gate.scripts import _trace

if TYPE_CHECKING:
    from gate.scripts import Finding, Script

RULE = Rule(
    id="script/rank-source",
    title="A worker's index and the number of workers come from TF_CONFIG or the completion index",
    description="RANK, WORLD_SIZE, LOCAL_RANK and PET_* are set by torchrun and Trainer's torch plugin, OMPI_* and PMI_* by mpirun, "
    "SLURM_* by Slurm; none exists in a pod of a TensorFlow runtime. With a default, every worker believes that it is worker 0 of 1; "
    "without one, the script ends with KeyError.",
    symptoms=("every worker believes that it is worker 0",),
    severity="error",
    fix="Use strategy.cluster_resolver.task_id after the strategy, TF_CONFIG, which tfrun sets, or JOB_COMPLETION_INDEX.",
    example='rank = int(os.environ["RANK"])',
    references=(
        ("https://github.com/kubeflow/trainer/blob/master/pkg/runtime/framework/plugins/torch/torch.go", "what only torch jobs are given"),
        ("https://kubernetes.io/docs/concepts/workloads/controllers/job/#completion-mode", "JOB_COMPLETION_INDEX"),
    ),
    seen=(
        "lab: tests/lab/test_gate_and_cluster.py::test_a_worker_is_told_its_index_and_no_rank",
        "source: trainer pkg/runtime/framework/plugins/torch/torch.go",
        "source: kubernetes pkg/controller/job/indexed_job_utils.go",
    ),
)

_NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "GROUP_RANK")
_PREFIXES = ("PET_", "OMPI_COMM_WORLD_", "PMI_", "SLURM_")


def faults(script: Script) -> Iterator[Finding]:
    events = _trace.events(script)
    own = {event.name for event in events if event.kind == "write"}
    seen = set()
    for event in events:
        foreign = event.name in _NAMES or event.name.startswith(_PREFIXES)
        if event.kind == "read" and any(default.rank for default in event.call.args):
            continue  # what is taken in its place is right
        if event.kind == "read" and foreign and event.name not in own and (event.line, event.name) not in seen:
            seen.add((event.line, event.name))
            asked = any(event.name in branch.source or branch.source == "except" for branch in event.path)
            has_default = bool(event.call.args)
            severity: Severity | None = "warning" if has_default or asked or _trace.in_try(script, event.line) else None
            yield (
                event.line,
                f"{event.name} is not set in a TensorFlow pod of Trainer: the worker's index and their number are in TF_CONFIG",
                severity,
            )
        if event.kind == "call" and event.name.endswith(".SlurmClusterResolver") and event.name.startswith("tensorflow."):
            yield event.line, "SlurmClusterResolver reads Slurm's variables, which no pod has: the cluster is in TF_CONFIG", None
