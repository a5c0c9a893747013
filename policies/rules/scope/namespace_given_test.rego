package rules_test.scope.namespace_given

import data.rules.scope.namespace_given.report
import data.rules_test.fixture

finding(object, kind) := fixture.at(
	object,
	["metadata", "namespace"],
	sprintf("%s is namespaced and has no namespace: it goes wherever the one who applies it happens to be", [kind]),
)

test_fail_trainjob if {
	report == {object.union(finding(0, "TrainJob"), {"severity": "error"})} with input as fixture.with_trainjob(
		fixture.trainjob,
		"metadata/namespace", null,
	)
}

test_fail_config_map if {
	config_map := {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "code"}}
	report == {finding(3, "ConfigMap")} with input as fixture.set(fixture.trainjob, "/objects", "-", config_map)
}

test_success_given_or_cluster_scoped if {
	report == set() with input as fixture.trainjob
}

test_success_unknown_kind if {
	report == set() with input as fixture.set(
		fixture.trainjob,
		"/objects", "-",
		{"apiVersion": "example.com/v1", "kind": "ConfigMap", "metadata": {"name": "x"}},
	)
}
