package rules_test.jobset.dns_hostnames

import data.rules.jobset.dns_hostnames.report
import data.rules_test.fixture

off := {"publishNotReadyAddresses": true, "enableDNSHostnames": false}

test_fail_off if {
	every document in [fixture.trainjob, fixture.jobset, fixture.runtime] {
		report == {fixture.in_workload(
			["spec", "network", "enableDNSHostnames"],
			"enableDNSHostnames is false: the workers have no names in DNS and never find one another",
		)} with input as fixture.with_spec(document, "network", off)
	}
}

test_success_default_and_on if {
	report == set() with input as fixture.trainjob
	report == set() with input as fixture.with_spec(fixture.trainjob, "network", {"enableDNSHostnames": true})
}

test_success_no_gang if {
	report == set() with input as fixture.with_spec(fixture.torch, "network", off)
}

test_fail_no_index if {
	report == {fixture.in_workload(fixture.job_path(["completionMode"]), "completionMode is NonIndexed: the workers have no index and no names in DNS, and never find one another")} with input as fixture.with_job(fixture.trainjob, "completionMode", "NonIndexed")
}

test_success_indexed_or_single if {
	report == set() with input as fixture.with_job(fixture.jobset, "completionMode", "Indexed")
	report == set() with input as fixture.with_job(fixture.single, "completionMode", "NonIndexed")
}
