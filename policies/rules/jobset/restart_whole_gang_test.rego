package rules_test.jobset.restart_whole_gang

import data.rules.jobset.restart_whole_gang.report
import data.rules_test.fixture

fix := {"fix": "Use maxRestarts with the strategy Recreate or BlockingRecreate, and only rules that restart the whole JobSet."}

finding(path, message, severity) := object.union(
	fixture.in_workload(array.concat(["spec", "failurePolicy"], path), message),
	object.union(fix, severity),
)

warning := {"severity": "warning"}

error := {"severity": "error"}

policy(document, value) := fixture.with_spec(document, "failurePolicy", value)

test_fail_policy_absent if {
	every document in [fixture.trainjob, fixture.jobset, fixture.runtime] {
		report == {fixture.in_workload(
			["spec", "failurePolicy"],
			"failurePolicy is not set: the first failed worker ends the run, nothing restarts all workers",
		)} with input as policy(document, null)
	}
}

test_fail_max_restarts_absent if {
	report == {fixture.in_workload(
		["spec", "failurePolicy", "maxRestarts"],
		"maxRestarts is not set and its default is 0: the first failed worker ends the run, nothing restarts all workers",
	)} with input as policy(fixture.trainjob, {"restartStrategy": "Recreate"})
}

test_fail_max_restarts_zero if {
	message := "maxRestarts is 0: the first failed worker ends the run, nothing restarts all workers"
	report == {object.union(
		fixture.in_workload(["spec", "failurePolicy", "maxRestarts"], message),
		warning,
	)} with input as policy(fixture.trainjob, {"maxRestarts": 0})
}

test_fail_restart_of_one_job if {
	rules := [{"action": "RestartJob", "targetReplicatedJobs": ["worker"]}]
	message := "action is RestartJob: one Job of 2 restarts alone and the other workers hang"
	document := policy(fixture.jobset, {"maxRestarts": 3, "rules": rules})
	report == {finding(["rules", 0, "action"], message, error)} with input as document
	report == {finding(["rules", 0, "action"], message, error)} with input as gated(in_cluster(document), "RestartJob")
	refused := "action is RestartJob: JobSet refuses it unless its alpha feature gate RestartJob is on"
	report == {finding(["rules", 0, "action"], refused, error)} with input as in_cluster(document)
}

in_cluster(document) := json.patch(document, [{"op": "replace", "path": "/cluster", "value": fixture.trainjob.cluster}])

# JobSet refuses the action wherever it is, of a Job without workers as well.
test_fail_restart_of_another_job if {
	rules := [{"action": "RestartJob", "targetReplicatedJobs": ["data"]}]
	message := "action is RestartJob: JobSet refuses it unless its alpha feature gate RestartJob is on"
	document := policy(fixture.jobset, {"maxRestarts": 3, "rules": rules})
	report == {finding(["rules", 0, "action"], message, warning)} with input as document
	report == {finding(["rules", 0, "action"], message, error)} with input as in_cluster(document)
	report == set() with input as gated(in_cluster(document), "RestartJob")
}

test_fail_restart_of_the_only_job if {
	rules := [{"action": "FailJobSet", "onJobFailureReasons": ["PodFailurePolicy"]}, {"action": "RestartJobAndIgnoreMaxRestarts"}]
	message := "action is RestartJobAndIgnoreMaxRestarts: JobSet refuses it unless its alpha feature gate RestartJob is on"
	document := policy(fixture.trainjob, {"maxRestarts": 3, "rules": rules})
	report == {finding(["rules", 1, "action"], message, error)} with input as document
	report == {finding(["rules", 1, "action"], message, warning)} with input as json.patch(document, [{"op": "replace", "path": "/cluster", "value": null}])
	report == set() with input as gated(document, "RestartJob")
}

gated(document, gate) := json.patch(document, [{"op": "add", "path": "/cluster/featureGates", "value": {gate: true}}])

test_fail_without_limit if {
	message := "every failure restarts all workers without limit: a run that always fails holds its GPUs for ever"
	report == {finding(["rules", 0, "action"], message, warning)} with input as policy(
		fixture.trainjob,
		{"rules": [{"action": "RestartJobSetAndIgnoreMaxRestarts"}]},
	)
}

test_fail_in_place_refused if {
	message := "restartStrategy is InPlaceRestart: JobSet refuses it unless every backoffLimit is 2147483647"
	report == {finding(["restartStrategy"], message, {})} with input as policy(
		fixture.trainjob,
		{"maxRestarts": 3, "restartStrategy": "InPlaceRestart"},
	)
}

test_fail_in_place_gated if {
	message := "restartStrategy is InPlaceRestart: JobSet refuses it unless its alpha feature gate InPlaceRestart is on"
	jobs := fixture.with_job(fixture.trainjob, "backoffLimit", 2147483647)
	document := policy(jobs, {"maxRestarts": 3, "restartStrategy": "InPlaceRestart"})
	report == {finding(["restartStrategy"], message, error)} with input as document
	report == {finding(["restartStrategy"], message, warning)} with input as json.patch(document, [{"op": "replace", "path": "/cluster", "value": null}])
	report == set() with input as gated(document, "InPlaceRestart")
}

test_fail_no_restart_is_left if {
	message := "action is FailJobSet for every worker that fails: maxRestarts is never used, the first failed worker ends the run"
	every rule in [{}, {"onJobFailureReasons": ["DeadlineExceeded", "BackoffLimitExceeded"]}] {
		rules := [{"action": "RestartJobSet", "onJobFailureReasons": ["PodFailurePolicy"]}, object.union(rule, {"action": "FailJobSet"})]
		report == {finding(["rules", 1, "action"], message, warning)} with input as policy(fixture.trainjob, {"maxRestarts": 3, "rules": rules})
	}
}

test_success_fails_for_some_reasons if {
	every rules in [
		[{"action": "FailJobSet", "onJobFailureReasons": ["PodFailurePolicy"]}],
		[{"action": "FailJobSet", "onJobFailureMessagePatterns": ["exit code 2"]}],
		[{"action": "RestartJobSet", "onJobFailureReasons": ["BackoffLimitExceeded"]}, {"action": "FailJobSet"}],
	] {
		report == set() with input as policy(fixture.trainjob, {"maxRestarts": 3, "rules": rules})
	}
}

test_success_bounded if {
	every strategy in ["Recreate", "BlockingRecreate"] {
		report == set() with input as policy(fixture.trainjob, {"maxRestarts": 1, "restartStrategy": strategy})
	}
}

test_success_rules if {
	rules := [
		{"action": "RestartJobSetAndIgnoreMaxRestarts", "onJobFailureReasons": ["PodFailurePolicy"]},
		{"action": "RestartJobSet"},
	]
	report == set() with input as policy(fixture.jobset, {"maxRestarts": 2, "rules": rules})
}

test_success_no_gang if {
	every document in [fixture.single, fixture.torch] {
		report == set() with input as policy(document, null)
	}
}
