package rules_test.scope.cluster_scoped_without_namespace

import data.rules.scope.cluster_scoped_without_namespace.report
import data.rules_test.fixture

test_fail_runtime if {
	report == {fixture.at(
		1,
		["metadata", "namespace"],
		"ClusterTrainingRuntime is cluster-scoped, but metadata.namespace is team: it belongs to no namespace",
	)} with input as fixture.with_runtime(fixture.trainjob, "metadata/namespace", "team")
}

test_fail_core_kind if {
	report == {fixture.at(
		2,
		["metadata", "namespace"],
		"Namespace is cluster-scoped, but metadata.namespace is team: it belongs to no namespace",
	)} with input as fixture.set(fixture.trainjob, "/objects/2", "metadata/namespace", "team")
}

test_success_none if {
	report == set() with input as fixture.trainjob
}

# The same kind of another group is another kind.
test_success_other_group if {
	document := fixture.with_runtime(fixture.trainjob, "metadata/namespace", "team")
	report == set() with input as fixture.with_runtime(document, "apiVersion", "example.com/v1")
}
