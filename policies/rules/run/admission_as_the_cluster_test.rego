package rules_test.run.admission_as_the_cluster

import data.rules.run.admission_as_the_cluster.report
import data.rules_test.fixture

lists := {"serviceAccounts": "[]", "hostPaths": "[]", "capabilities": "[]", "networks": "[]"}

# A policy with these lists (object 0), on a cluster where runs may bring this.
judged(written, runs) := found if {
	document := json.patch(fixture.trainjob, [
		{"op": "add", "path": "/cluster/runs", "value": runs},
		{"op": "replace", "path": "/objects/0", "value": {
			"apiVersion": "admissionregistration.k8s.io/v1",
			"kind": "ValidatingAdmissionPolicy",
			"metadata": {"name": "overrides", "annotations": {"training.gitops/rule": "run/allowed-overrides"}},
			"spec": {"variables": [{"name": name, "expression": expression} | some name, expression in written]},
		}},
	])
	found := {[finding.path, finding.message] | some finding in report with input as document}
}

test_fail_more_than_the_cluster_allows if {
	judged(object.union(lists, {"hostPaths": "[\"/\"]"}), {}) == {[["spec", "variables", 1, "expression"], "runs may bring as hostPaths: [\"/\"], and by cluster.yaml: []"]}
}

test_fail_less_than_the_cluster_allows if {
	judged(lists, {"serviceAccounts": ["reader"]}) == {[["spec", "variables", 3, "expression"], "runs may bring as serviceAccounts: [], and by cluster.yaml: [\"reader\"]"]}
}

test_fail_no_list if {
	judged(object.remove(lists, ["networks"]), {}) == {[["spec", "variables"], "has no variable networks, and runs may bring by cluster.yaml: []"]}
}

test_fail_no_literal if {
	judged(object.union(lists, {"hostPaths": "params.data.folders"}), {}) == {[["spec", "variables", 1, "expression"], "runs may bring as hostPaths: params.data.folders, and by cluster.yaml: []"]}
}

test_success_in_another_order if {
	judged(object.union(lists, {"capabilities": "[\"B\", \"A\"]"}), {"capabilities": ["A", "B"]}) == set()
}

test_success_another_policy if {
	report == set() with input as json.patch(fixture.trainjob, [{"op": "replace", "path": "/objects/0", "value": {
		"apiVersion": "admissionregistration.k8s.io/v1",
		"kind": "ValidatingAdmissionPolicy",
		"metadata": {"name": "overrides"},
		"spec": {"variables": [{"name": "hostPaths", "expression": "['/']"}]},
	}}])
}
