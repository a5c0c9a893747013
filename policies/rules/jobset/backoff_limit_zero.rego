# METADATA
# title: A failed worker fails its Job
# description: |
#   MultiWorkerMirroredStrategy cannot take back a peer that restarts alone: the others abort or hang while they hold
#   their GPUs. With a backoffLimit above 0 (Job's default is 6) the Job makes a new pod for the failed one alone, and
#   JobSet, whose failurePolicy would recreate the whole gang, counts nothing. A podFailurePolicy that ignores some
#   failures does the same for these.
# related_resources:
# - ref: https://github.com/tensorflow/tensorflow/issues/42498
#   description: a peer that restarts alone has another incarnation
# - ref: https://github.com/kubernetes-sigs/jobset/issues/825
#   description: the JobSet counts no restart while the Job retries
# custom:
#   symptoms:
#   - "current incarnation doesn't match with one in the group"
#   - "a different incarnation of the worker"
#   - "Cluster check alive failed, … is down"
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_with_a_backoff_limit_the_job_replaces_one_worker_alone"
#   - "lab: tests/training/test_training.py::test_a_run_goes_on_after_sigterm_and_after_a_lost_worker"
#   - "source: kubernetes pkg/apis/batch/v1/defaults.go"
#   - "source: kubernetes pkg/controller/job/pod_failure_policy.go"
#   - "source: tensorflow python/distribute/collective_all_reduce_strategy.py"
#   severity: error
#   fix: "Write `backoffLimit: 0` in the Job template of every replicatedJob that runs workers."
#   example: |
#     replicatedJobs:
#     - name: node
#       template:
#         spec:
#           backoffLimit: 3
package rules.jobset.backoff_limit_zero

import data.lib

report contains lib.in_workload(g.workload, lib.job_path(g, ["backoffLimit"]), message(limit)) if {
	some g in lib.gangs
	not lib.restarts_in_place(g.workload)
	limit := object.get(lib.job_spec(g), "backoffLimit", null)
	limit != 0
	not limited_by_index(g, limit)
}

report contains lib.in_workload(g.workload, lib.job_path(g, ["backoffLimitPerIndex"]), message_per_index(limit)) if {
	some g in lib.gangs
	limit := lib.job_spec(g).backoffLimitPerIndex
	limit > 0
}

report contains object.union(
	lib.in_workload(g.workload, lib.job_path(g, ["podFailurePolicy", "rules", i, "action"]), message_ignored(rule.action)),
	{"severity": replaced_alone[rule.action], "fix": "Leave the rule out, or write action: FailJob."},
) if {
	some g in lib.gangs
	not lib.restarts_in_place(g.workload)
	some i, rule in lib.job_spec(g).podFailurePolicy.rules
}

# Where one index fails alone the others fail as well once they miss it.
replaced_alone := {"Ignore": "error", "FailIndex": "warning"}

# Where the limit is given per index and not in all, the one per index decides.
limited_by_index(g, null) if lib.job_spec(g).backoffLimitPerIndex >= 0

message(null) := "backoffLimit is not set and Job's default is 6: a failed worker is replaced alone and the others hang"

message(limit) := sprintf("backoffLimit is %d: a failed worker is replaced alone and the others hang", [limit]) if {
	limit != null
}

message_per_index(limit) := sprintf(
	"backoffLimitPerIndex is %d: a failed worker is replaced alone and the others hang",
	[limit],
)

message_ignored("Ignore") := "a podFailurePolicy rule ignores failures: such a worker is replaced alone and the others hang"

message_ignored("FailIndex") := "a podFailurePolicy rule fails one index alone: the Job goes on and the other workers hang"
