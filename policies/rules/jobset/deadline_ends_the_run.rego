# METADATA
# title: A deadline ends the run
# description: |
#   activeDeadlineSeconds of a Job or a pod ends a Job or a pod: for JobSet that is a failure like any other, so it restarts
#   all workers, and the run may take the deadline once more for each of maxRestarts. The deadline of a run is the TrainJob's
#   own activeDeadlineSeconds (from Trainer 2.2): it ends with Failed and DeadlineExceeded.
# related_resources:
# - ref: https://github.com/kubernetes-sigs/jobset/blob/v0.12.0/pkg/controllers/failure_policy.go
#   description: what JobSet does when a Job has failed
# - ref: https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/controller/trainjob_controller.go
#   description: the TrainJob's deadline
# custom:
#   symptoms:
#   - "a run goes on after its deadline"
#   severity: warning
#   seen:
#   - "lab: tests/lab/test_runs_left_alone.py::test_a_deadline_of_a_job_or_a_pod_restarts_the_run"
#   - "lab: tests/lab/test_runs_left_alone.py::test_a_rule_for_that_reason_ends_the_run"
#   - "lab: tests/lab/test_runs_left_alone.py::test_a_deadline_of_the_trainjob_ends_the_run"
#   - "source: jobset pkg/controllers/failure_policy.go"
#   - "source: trainer pkg/controller/trainjob_controller.go"
#   fix: "Write activeDeadlineSeconds in the spec of the TrainJob, or let a rule of failurePolicy fail the JobSet (`action: FailJobSet`) for the reason DeadlineExceeded."
#   example: |
#     failurePolicy: {maxRestarts: 3}
#     replicatedJobs:
#     - name: node
#       template: {spec: {activeDeadlineSeconds: 86400}}
package rules.jobset.deadline_ends_the_run

import data.lib

report contains lib.in_workload(g.workload, path, message) if {
	some g in lib.gangs
	restarts := g.workload.jobset.spec.failurePolicy.maxRestarts
	restarts > 0
	some level, path in {"Job": lib.job_path(g, ["activeDeadlineSeconds"]), "pod": lib.pod_path(g, ["activeDeadlineSeconds"])}
	seconds := deadline(g, level)
	not ends(g, level)
	message := sprintf("activeDeadlineSeconds of the %s is %d: then all workers are restarted, up to %d times, and the run goes on", [level, seconds, restarts])
}

deadline(g, "Job") := lib.job_spec(g).activeDeadlineSeconds

deadline(g, "pod") := lib.pod_spec(g).activeDeadlineSeconds

# The first rule that applies to that failure ends the run. A pod's deadline looks like any other failure of a worker.
ends(g, "Job") if {
	[rule | some rule in g.workload.jobset.spec.failurePolicy.rules; applies(rule, g)][0].action == "FailJobSet"
}

applies(rule, g) if {
	one_of(rule, "onJobFailureReasons", {"DeadlineExceeded"})
	one_of(rule, "targetReplicatedJobs", {g.pod.name})
	one_of(rule, "onJobFailureMessagePatterns", {pattern |
		some pattern in rule.onJobFailureMessagePatterns
		regex.match(pattern, "Job was active longer than specified deadline")
	})
}

# A list that is empty or absent leaves nothing out.
one_of(rule, field, values) if {
	some value in rule[field]
	value in values
}

one_of(rule, field, _) if count(object.get(rule, field, [])) == 0
