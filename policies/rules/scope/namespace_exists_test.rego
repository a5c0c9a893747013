package rules_test.scope.namespace_exists

import data.rules.scope.namespace_exists.report
import data.rules_test.fixture

test_fail_absent if {
	report == {fixture.at(
		0,
		["metadata", "namespace"],
		"namespace crew is not among the objects of the target, its cluster or `external`",
	)} with input as fixture.with_trainjob(fixture.trainjob, "metadata/namespace", "crew")
}

test_success_there if {
	report == set() with input as fixture.trainjob
}

test_success_built_in if {
	report == set() with input as fixture.with_trainjob(fixture.trainjob, "metadata/namespace", "default")
	report == set() with input as fixture.with_trainjob(fixture.trainjob, "metadata/namespace", null)
}

test_success_external if {
	document := fixture.with_trainjob(fixture.trainjob, "metadata/namespace", "crew")
	external := {"kind": "Namespace", "namespace": "", "name": "crew"}
	report == set() with input as fixture.set(document, "/cluster/external", "-", external)
}
