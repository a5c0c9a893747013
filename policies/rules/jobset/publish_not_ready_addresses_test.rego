package rules_test.jobset.publish_not_ready_addresses

import data.rules.jobset.publish_not_ready_addresses.report
import data.rules_test.fixture

path := ["spec", "network", "publishNotReadyAddresses"]

absent := "publishNotReadyAddresses is not set: workers must find one another in DNS before they are ready, so it has to be true"

test_fail_false if {
	every document in [fixture.trainjob, fixture.jobset, fixture.runtime] {
		report == {fixture.in_workload(
			path,
			"publishNotReadyAddresses is false: DNS hides workers until they are ready, so starting workers never find one another",
		)} with input as fixture.with_spec(document, "network", {"publishNotReadyAddresses": false})
	}
}

test_fail_absent if {
	report == {fixture.in_workload(path, absent)} with input as fixture.with_spec(fixture.trainjob, "network", {"subdomain": "x"})
}

test_fail_network_absent if {
	report == {fixture.in_workload(path, absent)} with input as fixture.with_spec(fixture.jobset, "network", null)
}

test_success_true if {
	report == set() with input as fixture.trainjob
}

test_success_no_gang if {
	every document in [fixture.single, fixture.torch] {
		report == set() with input as fixture.with_spec(document, "network", null)
	}
}
