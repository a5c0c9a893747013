package rules_test.argocd.project_exists

import data.lib
import data.rules.argocd.project_exists.report
import data.rules_test.applications

misspelt := applications.with_view("spec/project", "sciences")

found(there, severity) := {object.union(
	lib.at(0, ["spec", "project"], sprintf("Application owls: the project sciences does not exist (there is: %s)", [there])),
	{"severity": severity},
)}

test_fail_missing if report == found("science", "error") with input as misspelt

test_fail_none_in_sight if report == found("none", "warning") with input as json.patch(misspelt, [{"op": "remove", "path": "/objects/1"}])

test_success_there if report == set() with input as applications.document

test_success_default if report == set() with input as applications.with_view("spec/project", "default")

test_success_template if report == set() with input as applications.with_view("spec/project", "{{ .team }}")

test_success_external if {
	report == set() with input as json.patch(misspelt, [{"op": "add", "path": "/cluster/external/-", "value": {"kind": "AppProject", "namespace": "argocd", "name": "sciences"}}])
}
