package rules_test.jobset.deadline_ends_the_run

import data.rules.jobset.deadline_ends_the_run.report
import data.rules_test.fixture

limited := fixture.with_job(fixture.trainjob, "activeDeadlineSeconds", 3600)

test_fail_job if {
	report == {fixture.in_workload(
		fixture.job_path(["activeDeadlineSeconds"]),
		"activeDeadlineSeconds of the Job is 3600: then all workers are restarted, up to 3 times, and the run goes on",
	)} with input as limited
}

test_fail_pod if {
	report == {fixture.in_workload(
		fixture.pod_path(["activeDeadlineSeconds"]),
		"activeDeadlineSeconds of the pod is 3600: then all workers are restarted, up to 3 times, and the run goes on",
	)} with input as fixture.with_pod(fixture.trainjob, "activeDeadlineSeconds", 3600)
}

with_rules(document, rules) := fixture.with_spec(document, "failurePolicy", {"maxRestarts": 3, "rules": rules})

late := {"action": "FailJobSet", "onJobFailureReasons": ["DeadlineExceeded"]}

test_success_a_rule_ends_it if {
	every rule in [
		late,
		{"action": "FailJobSet"},
		{"action": "FailJobSet", "onJobFailureReasons": [], "targetReplicatedJobs": []},
		object.union(late, {"targetReplicatedJobs": ["node"]}),
		object.union(late, {"onJobFailureMessagePatterns": ["longer than .* deadline"]}),
	] {
		report == set() with input as with_rules(limited, [rule])
	}
	report == set() with input as with_rules(limited, [{"action": "RestartJobSet", "onJobFailureReasons": ["BackoffLimitExceeded"]}, late])
}

test_fail_another_rule if {
	every rules in [
		[object.union(late, {"targetReplicatedJobs": ["other"]})],
		[object.union(late, {"onJobFailureMessagePatterns": ["out of memory"]})],
		[{"action": "FailJobSet", "onJobFailureReasons": ["BackoffLimitExceeded"]}],
		[{"action": "RestartJobSet"}, late],
	] {
		count(report) == 1 with input as with_rules(limited, rules)
	}
	count(report) == 1 with input as with_rules(fixture.with_pod(fixture.trainjob, "activeDeadlineSeconds", 3600), [late])
}

test_success_no_restarts if {
	report == set() with input as fixture.with_spec(limited, "failurePolicy", {"maxRestarts": 0})
}

test_success_of_the_run if {
	report == set() with input as fixture.with_trainjob(fixture.trainjob, "spec/activeDeadlineSeconds", 3600)
}
