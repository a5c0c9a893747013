package rules_test.jobset.workers_at_once

import data.rules.jobset.workers_at_once.report
import data.rules_test.fixture

found(parallelism) := {fixture.in_workload(
	fixture.job_path(["parallelism"]),
	sprintf("parallelism is %d and completions 4: %d of 4 workers start, and wait for the others, which start when they are done", [parallelism, parallelism]),
)}

counts(parallelism) := fixture.with_job(fixture.with_job(fixture.jobset, "completions", 4), "parallelism", parallelism)

test_fail_some_at_a_time if report == found(2) with input as counts(2)

test_fail_one_at_a_time if {
	variables := [{"name": "TF_NUM_WORKERS", "value": "4"}]
	report == found(1) with input as fixture.with_container(counts(1), "env", variables)
	report == found(1) with input as fixture.with_container(counts(null), "env", variables)
}

test_success_all if {
	report == set() with input as fixture.jobset
	report == set() with input as fixture.trainjob
	report == set() with input as counts(4)
}

# Trainings that know nothing of one another.
test_success_one_after_another if report == set() with input as counts(1)
