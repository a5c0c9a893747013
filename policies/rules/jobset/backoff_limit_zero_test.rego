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

limits(all, index) := fixture.with_job(fixture.with_job(fixture.trainjob, "backoffLimit", all), "backoffLimitPerIndex", index)

test_fail_limit_per_index if {
	every limit in [null, 6] {
		report == {fixture.in_workload(
			fixture.job_path(["backoffLimitPerIndex"]),
			"backoffLimitPerIndex is 2: a failed worker is replaced alone and the others hang",
		)} with input as limits(limit, 2)
	}
}

test_fail_index_alone if {
	message := "backoffLimitPerIndex is 0 and backoffLimit is not: a failed worker fails alone, the Job goes on and the others hang"
	finding := object.union(fixture.in_workload(fixture.job_path(["backoffLimitPerIndex"]), message), {"severity": "warning"})
	report == {finding} with input as limits(null, 0)
	report == {finding} with input as limits(6, 0)
	report == {finding} with input as fixture.with_job(limits(null, 0), "maxFailedIndexes", 1)
}

# The first pod that fails is one too many for the Job as well.
test_success_limit_per_index_beside_zero if {
	every limit in [0, 2] { report == set() with input as limits(0, limit) }
}

test_success_no_index_may_fail if {
	report == set() with input as fixture.with_job(limits(null, 0), "maxFailedIndexes", 0)
}

test_fail_ignored_failures if {
	policy := {"rules": [{"action": "FailJob"}, {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
	finding := fixture.in_workload(
		fixture.job_path(["podFailurePolicy", "rules", 1, "action"]),
		"a podFailurePolicy rule ignores failures: such a worker is replaced alone and the others hang",
	)
	report == {object.union(
		finding,
		{"fix": "Leave the rule out, or write action: FailJob."},
	)} with input as fixture.with_job(fixture.trainjob, "podFailurePolicy", policy)
}

# FailIndex asks for a backoffLimitPerIndex, and a pod that fails by it counts against the backoffLimit all the same.
test_success_the_job_fails if {
	policy := {"rules": [{"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget"}]}, {"action": "Count"}, {"action": "FailIndex"}]}
	report == set() with input as fixture.with_job(limits(0, 1), "podFailurePolicy", policy)
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
