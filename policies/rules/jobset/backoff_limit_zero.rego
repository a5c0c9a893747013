# METADATA
# title: A failed worker fails its Job
# description: |
#   MultiWorkerMirroredStrategy cannot take back a peer that restarts alone: the others abort or hang while they hold
#   their GPUs. With a backoffLimit above 0 (Job's default is 6) the Job makes a new pod for the failed one alone, and
#   JobSet, whose failurePolicy would recreate the whole gang, counts nothing. A podFailurePolicy that ignores some
#   failures does the same for these. A backoffLimitPerIndex without a backoffLimit counts for each worker alone: it is
#   replaced so often, and then the Job goes on without it. Beside `backoffLimit: 0` it changes nothing.
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
#   - "lab: tests/lab/test_gate_and_cluster.py::test_with_no_restart_of_an_index_the_job_goes_on_without_it"
#   - "lab: tests/lab/test_gate_and_cluster.py::test_beside_a_backoff_limit_of_0_the_one_per_index_changes_nothing"
#   - "lab: tests/training/test_training.py::test_a_run_goes_on_after_sigterm_and_after_a_lost_worker"
#   - "source: kubernetes pkg/apis/batch/v1/defaults.go"
#   - "source: kubernetes pkg/controller/job/job_controller.go"
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
	some g in replacing
	limit := object.get(lib.job_spec(g), "backoffLimit", null)
	object.get(lib.job_spec(g), "backoffLimitPerIndex", null) == null
}

report contains object.union(
	lib.in_workload(g.workload, lib.job_path(g, ["backoffLimitPerIndex"]), message_per_index(limit)),
	per_index_severity(limit),
) if {
	some g in replacing
	limit := lib.job_spec(g).backoffLimitPerIndex
	not ends_at_the_first(lib.job_spec(g))
}

report contains object.union(
	lib.in_workload(g.workload, lib.job_path(g, ["podFailurePolicy", "rules", i, "action"]), message_ignored),
	{"fix": "Leave the rule out, or write action: FailJob."},
) if {
	some g in lib.gangs
	not lib.restarts_in_place(g.workload)
	some i, rule in lib.job_spec(g).podFailurePolicy.rules
	rule.action == "Ignore"
}

# Where the first failure does not fail the Job.
replacing contains g if {
	some g in lib.gangs
	not lib.restarts_in_place(g.workload)
	object.get(lib.job_spec(g), "backoffLimit", null) != 0
}

ends_at_the_first(job) if {
	job.backoffLimitPerIndex == 0
	job.maxFailedIndexes == 0
}

# Where one index fails alone the others fail as well once they miss it.
per_index_severity(0) := {"severity": "warning"}

per_index_severity(limit) := {} if limit > 0

message(null) := "backoffLimit is not set and Job's default is 6: a failed worker is replaced alone and the others hang"

message(limit) := sprintf("backoffLimit is %d: a failed worker is replaced alone and the others hang", [limit]) if {
	limit != null
}

message_per_index(0) := "backoffLimitPerIndex is 0 and backoffLimit is not: a failed worker fails alone, the Job goes on and the others hang"

message_per_index(limit) := sprintf("backoffLimitPerIndex is %d: a failed worker is replaced alone and the others hang", [limit]) if {
	limit > 0
}

message_ignored := "a podFailurePolicy rule ignores failures: such a worker is replaced alone and the others hang"
