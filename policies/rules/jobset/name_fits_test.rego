package rules_test.jobset.name_fits

import data.rules.jobset.name_fits.report
import data.rules_test.fixture

named(document, length, workers) := json.patch(document, [
	{"op": "replace", "path": "/workloads/0/name", "value": concat("", ["n" | some _ in numbers.range(1, length)])},
	{"op": "add", "path": concat("/", [fixture.replicated_job, "template/spec/completions"]), "value": workers},
])

too_long(message) := {fixture.at(0, ["metadata", "name"], message)}

# The budgets of Trainer's replicatedJob `node`: 48 characters up to 10 workers, 47 to 100, 46 to 1000.
test_success_budgets if {
	every length, workers in {48: 10, 47: 100, 46: 1000} {
		report == set() with input as named(fixture.trainjob, length, workers)
	}
}

test_fail_one_more_than_the_budget if {
	every case in [[49, 10, 48, 9], [48, 100, 47, 99], [47, 1000, 46, 999]] {
		[length, workers, left, last] := case
		message := sprintf(
			"the name has %d characters and `…-node-0-%d-xxxxx` would have 64: JobSet refuses more than 63, which leaves %d for the name",
			[length, last, left],
		)
		report == too_long(message) with input as named(fixture.trainjob, length, workers)
	}
}

# Trainer sets completions in every Job, so an initializer's pod counts as well.
test_fail_longest_of_all_jobs if {
	job := {"name": "dataset-initializer", "template": {"spec": {}}}
	document := json.patch(named(fixture.trainjob, 34, 2), [{
		"op": "add",
		"path": "/workloads/0/jobset/spec/replicatedJobs/0",
		"value": job,
	}])
	report == too_long(concat(" ", [
		"the name has 34 characters and `…-dataset-initializer-0-0-xxxxx` would have 64:",
		"JobSet refuses more than 63, which leaves 33 for the name",
	])) with input as document
}

test_fail_jobset_replicas if {
	document := fixture.set(named(fixture.jobset, 50, 1), fixture.replicated_job, "replicas", 11)
	report == too_long(concat(" ", [
		"the name has 50 characters and `…-leader-10-0-xxxxx` would have 68:",
		"JobSet refuses more than 63, which leaves 45 for the name",
	])) with input as document
}

test_fail_no_label if {
	message := "the name is no RFC 1035 label (a lower-case letter, then letters, digits and `-`): Trainer and JobSet refuse it"
	every name in ["7-run", "run.7", "Run", "run-"] {
		report == {object.union(finding, {"fix": fix}) | some finding in too_long(message)} with input as fixture.set(fixture.trainjob, "/workloads/0", "name", name)
	}
}

fix := "Write a name that begins with a lower-case letter and holds nothing but such letters, digits and `-`."

test_fail_replicated_job_name if {
	report == {fixture.in_workload(
		["spec", "replicatedJobs", 0, "name"],
		"`Node_1` cannot be part of a Job's name (lower-case letters, digits and `-`): JobSet refuses it",
	)} with input as fixture.set(fixture.runtime, fixture.replicated_job, "name", "Node_1")
}

test_fail_subdomain if {
	report == {fixture.in_workload(
		["spec", "network", "subdomain"],
		"subdomain `1.peers` is no RFC 1035 label of at most 63 characters: JobSet refuses it",
	)} with input as fixture.with_spec(fixture.trainjob, "network", {"subdomain": "1.peers"})
}

test_fail_coordinator if {
	report == {fixture.in_workload(
		["spec", "coordinator"],
		"the coordinator's address would have 70 characters, and as a label it may have 63: JobSet refuses it",
	)} with input as fixture.with_spec(named(fixture.trainjob, 30, 2), "coordinator", {"replicatedJob": "node"})
}

test_success_runtime_has_no_such_name if {
	report == set() with input as named(fixture.runtime, 60, 2)
}

test_success_subdomain_and_coordinator if {
	document := fixture.with_spec(named(fixture.trainjob, 30, 2), "network", {"subdomain": "peers"})
	report == set() with input as fixture.with_spec(document, "coordinator", {"replicatedJob": "node"})
}
