# METADATA
# title: A finished run keeps its JobSet and its Jobs
# description: |
#   Of a Failed TrainJob whose JobSet is gone Trainer makes the JobSet again: with a ttlSecondsAfterFinished in the runtime
#   every run that fails trains again and again, without quota where Kueue queued it, and nobody has asked for it. Trainer
#   before 2.2 does so with a Complete one, too. JobSet likewise makes a Job again that its own time limit deleted while
#   the others of the JobSet are running. The JobSet goes with its TrainJob, so delete that.
# related_resources:
# - ref: https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/controller/trainjob_controller.go
#   description: removeFailedCondition, before it is asked whether the run has finished
# - ref: https://github.com/kubernetes-sigs/jobset/blob/v0.12.0/pkg/controllers/jobset_controller.go
#   description: a Job that is not there is made
# custom:
#   symptoms:
#   - "a Failed TrainJob trains again, again and again, with restarts 0"
#   - "an initializer runs again while the workers train"
#   severity: error
#   seen:
#   - "lab: tests/lab/test_roles.py::test_with_a_time_limit_a_failed_run_trains_again"
#   - "lab: tests/lab/test_roles.py::test_with_a_time_limit_of_its_own_a_job_runs_again_beside_the_workers"
#   - "source: trainer pkg/controller/trainjob_controller.go"
#   fix: "Leave ttlSecondsAfterFinished out, and delete TrainJobs that are no longer wanted: their JobSets go with them."
#   example: |
#     kind: ClusterTrainingRuntime
#     spec:
#       template:
#         spec:
#           ttlSecondsAfterFinished: 3600
package rules.jobset.ttl_after_finished

import data.lib
import data.lib.roles

report contains lib.in_workload(w, ["spec", "ttlSecondsAfterFinished"], message) if {
	some w in lib.workloads
	w.kind != "JobSet"
	seconds := w.jobset.spec.ttlSecondsAfterFinished
	message := sprintf(
		"ttlSecondsAfterFinished is %d: that many seconds after a run has %s its JobSet is deleted, Trainer makes it again, and the run trains over and over",
		[seconds, ended],
	)
}

report contains object.union(lib.in_workload(w, path, message), {"severity": "warning"}) if {
	some w in lib.workloads
	count(roles.jobs(w)) > 1
	some i, job in roles.jobs(w)
	seconds := job.template.spec.ttlSecondsAfterFinished
	path := ["spec", "replicatedJobs", i, "template", "spec", "ttlSecondsAfterFinished"]
	message := sprintf(
		"ttlSecondsAfterFinished of the Job %s is %d: if the others are still running then, JobSet makes it again and it runs again",
		[job.name, seconds],
	)
}

ended := "failed" if semver.compare(input.versions.trainer, "2.2.0") >= 0

ended := "ended" if semver.compare(input.versions.trainer, "2.2.0") < 0
