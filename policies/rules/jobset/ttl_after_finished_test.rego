package rules_test.jobset.ttl_after_finished

import data.rules.jobset.ttl_after_finished.report
import data.rules_test.fixture

at_trainer(document, version) := json.patch(document, [{"op": "add", "path": "/versions", "value": {"trainer": version}}])

limited(document, version) := at_trainer(fixture.with_spec(document, "ttlSecondsAfterFinished", 60), version)

message(ended) := sprintf(
	"ttlSecondsAfterFinished is 60: that many seconds after a run has %s its JobSet is deleted, Trainer makes it again, and the run trains over and over",
	[ended],
)

test_fail_run_and_runtime if {
	every document in [fixture.trainjob, fixture.runtime] {
		report == {fixture.in_workload(["spec", "ttlSecondsAfterFinished"], message("failed"))} with input as limited(document, "2.3.0")
		report == {fixture.in_workload(["spec", "ttlSecondsAfterFinished"], message("ended"))} with input as limited(document, "2.1.0")
	}
}

test_fail_job_beside_others if {
	document := fixture.with_job(fixture.jobset, "ttlSecondsAfterFinished", 0)
	report == {object.union(
		fixture.in_workload(
			fixture.job_path(["ttlSecondsAfterFinished"]),
			"ttlSecondsAfterFinished of the Job leader is 0: if the others are still running then, JobSet makes it again and it runs again",
		),
		{"severity": "warning"},
	)} with input as at_trainer(document, "2.3.0")
}

# Nothing makes a JobSet again that nothing owns.
test_success_jobset if report == set() with input as limited(fixture.jobset, "2.3.0")

test_success_only_job if {
	report == set() with input as at_trainer(fixture.with_job(fixture.trainjob, "ttlSecondsAfterFinished", 60), "2.3.0")
}

test_success_none if report == set() with input as at_trainer(fixture.trainjob, "2.3.0")
