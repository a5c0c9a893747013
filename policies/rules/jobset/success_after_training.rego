# METADATA
# title: A run is Complete when it has trained
# description: |
#   successPolicy says which Jobs make a JobSet Complete; the others are then deleted. With operator Any the first Job that
#   succeeds does, and that is an initializer, or another Job that the workers wait for: the run is Complete before a worker
#   has started, and a TrainJob that is Complete looks like a training that went well.
# related_resources:
# - ref: https://github.com/kubernetes-sigs/jobset/blob/v0.12.0/pkg/controllers/success_policy.go
#   description: which Jobs have to succeed
# custom:
#   symptoms:
#   - "a TrainJob is Complete when its initializer has finished"
#   severity: error
#   seen:
#   - "lab: tests/lab/test_roles.py::test_with_any_success_a_run_is_complete_before_it_trains"
#   - "lab: tests/lab/test_roles.py::test_with_the_success_of_the_first_job_the_workers_are_deleted"
#   - "source: jobset pkg/controllers/success_policy.go"
#   fix: "Leave successPolicy out (all Jobs have to succeed), or name the Job that trains in targetReplicatedJobs."
#   example: |
#     successPolicy: {operator: Any}
#     replicatedJobs:
#     - name: dataset-initializer
#     - name: node
package rules.jobset.success_after_training

import data.lib
import data.lib.roles

report contains lib.in_workload(w, path(policy), message) if {
	some w in lib.workloads
	count(roles.workers(w)) > 0
	policy := w.jobset.spec.successPolicy
	policy.operator == "Any"
	early := roles.awaited(w) & roles.first(w)
	count(early) > 0
	message := sprintf("the success of any of %s completes the run, and %s is over before the workers begin: they are deleted", [
		lib.joined(roles.awaited(w)),
		lib.joined(early),
	])
}

report contains lib.in_workload(w, path(policy), message) if {
	some w in lib.workloads
	count(roles.workers(w)) > 0
	policy := w.jobset.spec.successPolicy
	policy.operator == "All"
	count(roles.awaited(w) - roles.first(w)) == 0
	message := sprintf("the success of %s completes the run, and that is over before the workers begin: they are deleted", [lib.joined(roles.awaited(w))])
}

path(policy) := ["spec", "successPolicy", field] if {
	field := {true: "targetReplicatedJobs", false: "operator"}[count(object.get(policy, "targetReplicatedJobs", [])) > 0]
}
