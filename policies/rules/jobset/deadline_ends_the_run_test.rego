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

test_success_a_rule_ends_it if {
	rules := [{"action": "FailJobSet", "onJobFailureReasons": ["DeadlineExceeded"]}]
	report == set() with input as fixture.with_spec(limited, "failurePolicy", {"maxRestarts": 3, "rules": rules})
}

test_success_no_restarts if {
	report == set() with input as fixture.with_spec(limited, "failurePolicy", {"maxRestarts": 0})
}

test_success_of_the_run if {
	report == set() with input as fixture.with_trainjob(fixture.trainjob, "spec/activeDeadlineSeconds", 3600)
}
