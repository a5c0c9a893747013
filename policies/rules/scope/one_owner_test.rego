package rules_test.scope.one_owner

import data.rules.scope.one_owner.report
import data.rules_test.fixture

config_map(namespace, value) := {
	"apiVersion": "v1",
	"kind": "ConfigMap",
	"metadata": {"name": "code", "namespace": namespace},
	"data": {"a": value},
}

with_objects(objects, members) := json.patch(fixture.trainjob, [
	{"op": "replace", "path": "/objects", "value": objects},
	{"op": "replace", "path": "/members", "value": members},
])

finding(this, others) := object.union(
	fixture.at(
		this,
		["metadata", "name"],
		"ConfigMap is there 2 times: the one applied last overwrites the others",
	),
	{"also": others},
)

test_fail_twice if {
	objects := [config_map("a", "1"), config_map("b", "1"), config_map("a", "2")]
	report == {finding(2, [0])} with input as with_objects(objects, [true, true, true])
}

test_fail_behind_what_has_no_name if {
	nameless := {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}
	objects := [nameless, config_map("a", "1"), nameless, config_map("a", "2")]
	report == {finding(3, [1])} with input as with_objects(objects, [true, true, true, true])
}

test_fail_beside_the_target if {
	objects := [config_map("a", "1"), config_map("a", "1")]
	report == {finding(0, [1])} with input as with_objects(objects, [true, false])
}

test_fail_equal_namespaces_do_no_harm if {
	namespace := {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}
	message := "Namespace is there 2 times: the one applied last overwrites the others"
	report == {object.union(
		fixture.at(1, ["metadata", "name"], message),
		{"severity": "warning", "also": [0]},
	)} with input as with_objects([namespace, namespace], [true, true])
}

test_success_other_namespace_or_group if {
	other_group := object.union(config_map("a", "1"), {"apiVersion": "example.com/v1"})
	objects := [config_map("a", "1"), config_map("b", "1"), other_group]
	report == set() with input as with_objects(objects, [true, true, true])
}

test_success_not_of_the_target if {
	objects := [config_map("a", "1"), config_map("a", "2")]
	report == set() with input as with_objects(objects, [false, false])
}
