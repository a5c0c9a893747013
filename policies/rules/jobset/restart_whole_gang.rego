# METADATA
# title: One failed worker restarts all workers
# description: |
#   A run of many workers meets failures of nodes and links. Its workers can only go on together, so the JobSet has to
#   recreate all of them, a bounded number of times; they resume from the checkpoint. Without a failurePolicy the
#   first failure ends the run. The actions RestartJob and RestartJobAndIgnoreMaxRestarts recreate one Job alone; without the
#   feature gate of that name JobSet refuses them.
# related_resources:
# - ref: https://jobset.sigs.k8s.io/docs/concepts/#failure-policy
#   description: failure policy of a JobSet
# - ref: https://github.com/kubernetes-sigs/jobset/blob/v0.12.0/pkg/features/features.go
#   description: InPlaceRestart and RestartJob are feature gates, off by default
# custom:
#   symptoms:
#   - "the run fails at the first preempted or evicted worker"
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_without_restarts_the_first_failure_is_the_last"
#   - "lab: tests/lab/test_faults.py::test_each_loss_of_a_worker_restarts_the_whole_gang"
#   - "lab: tests/lab/test_gate_and_cluster.py::test_what_is_refused_later_makes_no_job"
#   - "source: jobset pkg/controllers/failure_policy.go"
#   - "source: jobset pkg/features/features.go"
#   - "source: jobset pkg/webhooks/jobset_webhook.go"
#   severity: error
#   fix: "Write `failurePolicy: {maxRestarts: 3}` in the spec of the JobSet (runtime: spec.template.spec)."
#   example: |
#     spec:
#       replicatedJobs: [{name: node}]
#       # no failurePolicy
package rules.jobset.restart_whole_gang

import data.lib

report contains lib.in_workload(w, ["spec", "failurePolicy"], message) if {
	some w in workloads
	not w.jobset.spec.failurePolicy
	message := "failurePolicy is not set: the first failed worker ends the run, nothing restarts all workers"
}

report contains lib.in_workload(w, ["spec", "failurePolicy", "maxRestarts"], message) if {
	some w in workloads
	w.jobset.spec.failurePolicy
	not w.jobset.spec.failurePolicy.maxRestarts
	not restarts_without_limit(w)
	message := "maxRestarts is not set and its default is 0: the first failed worker ends the run, nothing restarts all workers"
}

# Who writes 0 may want the first failure to be the last.
report contains object.union(lib.in_workload(w, ["spec", "failurePolicy", "maxRestarts"], message), {"severity": "warning"}) if {
	some w in workloads
	w.jobset.spec.failurePolicy.maxRestarts == 0
	not restarts_without_limit(w)
	message := "maxRestarts is 0: the first failed worker ends the run, nothing restarts all workers"
}

report contains object.union(finding(w, ["rules", i, "action"], message_alone(w, rule)), alone_severity(w, rule)) if {
	some w in workloads
	some i, rule in w.jobset.spec.failurePolicy.rules
	startswith(rule.action, "RestartJob")
	not startswith(rule.action, "RestartJobSet")
	apart_or_refused(w, rule)
}

report contains warning(w, ["rules", i, "action"], message) if {
	some w in workloads
	some i, rule in w.jobset.spec.failurePolicy.rules
	rule.action == "RestartJobSetAndIgnoreMaxRestarts"
	matches_everything(rule)
	message := "every failure restarts all workers without limit: a run that always fails holds its GPUs for ever"
}

# A worker that fails fails its Job for the reason BackoffLimitExceeded; the first rule that matches decides.
report contains warning(w, ["rules", i, "action"], message) if {
	some w in workloads
	w.jobset.spec.failurePolicy.maxRestarts > 0
	i := min([n |
		some n, rule in w.jobset.spec.failurePolicy.rules
		matches_workers(rule)
		concerns_gang(w, rule)
	])
	w.jobset.spec.failurePolicy.rules[i].action == "FailJobSet"
	message := "action is FailJobSet for every worker that fails: maxRestarts is never used, the first failed worker ends the run"
}

report contains finding(w, ["restartStrategy"], message) if {
	some w in workloads
	w.jobset.spec.failurePolicy.restartStrategy == "InPlaceRestart"
	not lib.restarts_in_place(w)
	message := sprintf("restartStrategy is InPlaceRestart: JobSet refuses it unless every backoffLimit is %d", [lib.max_int32])
}

report contains object.union(finding(w, ["restartStrategy"], message), gate_severity) if {
	some w in workloads
	lib.restarts_in_place(w)
	not input.cluster.featureGates.InPlaceRestart
	message := "restartStrategy is InPlaceRestart: JobSet refuses it unless its alpha feature gate InPlaceRestart is on"
}

workloads contains g.workload if some g in lib.gangs

finding(w, rest, message) := object.union(
	lib.in_workload(w, array.concat(["spec", "failurePolicy"], rest), message),
	{"fix": "Use maxRestarts with the strategy Recreate or BlockingRecreate, and only rules that restart the whole JobSet."},
)

warning(w, rest, message) := object.union(finding(w, rest, message), {"severity": "warning"})

# Whether the rule can be applied to a Job that runs workers.
concerns_gang(w, rule) if {
	some p in w.pods
	p.tensorflow
	p.name in object.get(rule, "targetReplicatedJobs", [p.name])
}

matches_everything(rule) if {
	count(object.get(rule, "onJobFailureReasons", [])) == 0
	count(object.get(rule, "onJobFailureMessagePatterns", [])) == 0
}

matches_workers(rule) if matches_everything(rule)

matches_workers(rule) if {
	count(object.get(rule, "onJobFailureMessagePatterns", [])) == 0
	"BackoffLimitExceeded" in rule.onJobFailureReasons
}

restarts_without_limit(w) if {
	some rule in w.jobset.spec.failurePolicy.rules
	rule.action == "RestartJobSetAndIgnoreMaxRestarts"
}

# Workers of one and the same Job are restarted together by RestartJob as well, where JobSet allows it.
jobs(w) := sum([object.get(w.jobset.spec.replicatedJobs[p.replicatedJob], "replicas", 1) |
	some p in w.pods
	p.tensorflow
])

apart_or_refused(w, rule) if {
	jobs(w) > 1
	concerns_gang(w, rule)
}

apart_or_refused(_, _) if not input.cluster.featureGates.RestartJob

alone_severity(w, rule) := {"severity": "error"} if {
	jobs(w) > 1
	concerns_gang(w, rule)
} else := gate_severity

# The facts name the feature gates that are on; without facts nothing is known of them.
default gate_severity := {"severity": "warning"}

gate_severity := {"severity": "error"} if input.cluster != null

message_alone(w, rule) := sprintf("action is %s: one Job of %d restarts alone and the other workers hang", [rule.action, jobs(w)]) if {
	jobs(w) > 1
	concerns_gang(w, rule)
	restart_of_a_job_is_possible
} else := sprintf("action is %s: JobSet refuses it unless its alpha feature gate RestartJob is on", [rule.action])

restart_of_a_job_is_possible if input.cluster == null

restart_of_a_job_is_possible if input.cluster.featureGates.RestartJob
