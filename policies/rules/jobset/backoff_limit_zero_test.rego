package rules_test.jobset.backoff_limit_zero

import data.rules.jobset.backoff_limit_zero.report
import data.rules_test.fixture

test_fail_limit_above_zero if {
	report == {fixture.in_workload(
		fixture.job_path(["backoffLimit"]),
		"backoffLimit is 3: a failed worker is replaced alone and the others hang",
	)} with input as fixture.with_job(fixture.trainjob, "backoffLimit", 3)
}

test_fail_limit_absent if {
	report == {fixture.in_workload(
		fixture.job_path(["backoffLimit"]),
		"backoffLimit is not set and Job's default is 6: a failed worker is replaced alone and the others hang",
	)} with input as fixture.with_job(fixture.trainjob, "backoffLimit", null)
}

test_fail_jobset_leader if {
	report == {fixture.in_workload(
		fixture.job_path(["backoffLimit"]),
		"backoffLimit is 1: a failed worker is replaced alone and the others hang",
	)} with input as fixture.with_job(fixture.jobset, "backoffLimit", 1)
}

test_fail_limit_per_index if {
	document := fixture.with_job(fixture.with_job(fixture.trainjob, "backoffLimit", null), "backoffLimitPerIndex", 2)
	report == {fixture.in_workload(
		fixture.job_path(["backoffLimitPerIndex"]),
		"backoffLimitPerIndex is 2: a failed worker is replaced alone and the others hang",
	)} with input as document
}

test_fail_ignored_failures if {
	policy := {"rules": [{"action": "FailJob"}, {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
	finding := fixture.in_workload(
		fixture.job_path(["podFailurePolicy", "rules", 1, "action"]),
		"a podFailurePolicy rule ignores failures: such a worker is replaced alone and the others hang",
	)
	report == {object.union(
		finding,
		{"severity": "error", "fix": "Leave the rule out, or write action: FailJob."},
	)} with input as fixture.with_job(fixture.trainjob, "podFailurePolicy", policy)
}

test_fail_one_index_alone if {
	policy := {"rules": [{"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [3]}}]}
	finding := fixture.in_workload(
		fixture.job_path(["podFailurePolicy", "rules", 0, "action"]),
		"a podFailurePolicy rule fails one index alone: the Job goes on and the other workers hang",
	)
	report == {object.union(
		finding,
		{"severity": "warning", "fix": "Leave the rule out, or write action: FailJob."},
	)} with input as fixture.with_job(fixture.trainjob, "podFailurePolicy", policy)
}

test_success_the_job_fails if {
	policy := {"rules": [{"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget"}]}, {"action": "Count"}]}
	report == set() with input as fixture.with_job(fixture.trainjob, "podFailurePolicy", policy)
}

test_success_zero if {
	every document in [fixture.trainjob, fixture.jobset, fixture.runtime] {
		report == set() with input as document
	}
}

test_success_no_gang if {
	every document in [fixture.single, fixture.torch] {
		report == set() with input as fixture.with_job(document, "backoffLimit", 6)
	}
}

# JobSet asks for this limit when it restarts in place.
test_success_in_place if {
	document := fixture.with_spec(fixture.trainjob, "failurePolicy", {"maxRestarts": 3, "restartStrategy": "InPlaceRestart"})
	report == set() with input as fixture.with_job(document, "backoffLimit", 2147483647)
}
