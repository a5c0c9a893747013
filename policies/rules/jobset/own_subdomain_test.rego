package rules_test.jobset.own_subdomain

import data.rules.jobset.own_subdomain.report
import data.rules_test.fixture

path := ["spec", "network", "subdomain"]

named(document) := fixture.with_spec(document, "network", {"publishNotReadyAddresses": true, "subdomain": "peers"})

second(document, changes) := json.patch(document, [{"op": "add", "path": "/workloads/-", "value": object.union(
	object.remove(object.union(document.workloads[0], {"index": 1, "name": "run-2"}), object.keys(changes)),
	changes,
)}])

test_fail_two_runs if {
	message := "TrainJob run-%d has the subdomain peers too: of runs at a time only the first has names in DNS"
	report == {
		fixture.in_workload(path, sprintf(message, [2])),
		{"workload": 1, "path": path, "message": sprintf(message, [1])},
	} with input as second(named(fixture.trainjob), {})
}

test_fail_name_of_another_run if {
	report == {fixture.in_workload(
		path,
		"JobSet peers has the subdomain peers too: of runs at a time only the first has names in DNS",
	)} with input as second(named(fixture.jobset), {"name": "peers", "jobset": fixture.jobset.workloads[0].jobset})
}

test_fail_runtime if {
	every document in [named(fixture.trainjob), named(fixture.runtime)] {
		report == {object.union(
			fixture.in_workload(path, "every run of the runtime has the subdomain peers: of those at a time in a namespace only the first has names in DNS"),
			{"severity": "warning"},
		)} with input as document
	}
}

test_success if {
	report == set() with input as fixture.trainjob
	report == set() with input as second(fixture.trainjob, {})
	report == set() with input as named(fixture.jobset)
	report == set() with input as second(named(fixture.jobset), {"namespace": "another"})
}
