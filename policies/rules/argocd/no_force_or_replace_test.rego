package rules_test.argocd.no_force_or_replace

import data.lib
import data.rules.argocd.no_force_or_replace.report
import data.rules_test.applications

forced := applications.with_view("spec/syncPolicy/syncOptions", ["ServerSideApply=true", "Force=true"])

replaced := applications.with_view("spec/syncPolicy/syncOptions", ["ServerSideApply=true", "Replace=true"])

found := {lib.at(0, ["spec", "syncPolicy", "syncOptions", 1], "Application owls deploys training with Replace=true: a TrainJob is refused where it differs, and loses what Kueue wrote into it where it waits")}

annotation := ["metadata", "annotations", "argocd.argoproj.io/sync-options"]

# The Application deploys a run with these sync options.
asking(document, options) := json.patch(document, [
	{"op": "add", "path": "/objects/-", "value": asked(options)},
	{"op": "replace", "path": "/applications/0/deploys", "value": [asked(options)]},
])

asked(options) := json.patch(applications.run, [{"op": "add", "path": "/metadata/annotations", "value": {"argocd.argoproj.io/sync-options": options}}])

client_side := applications.with_view("spec/syncPolicy/syncOptions", [])

test_fail_replaced if report == found with input as replaced

test_fail_not_known if {
	report == found with input as json.patch(replaced, [
		{"op": "replace", "path": "/applications/0/known", "value": false},
		{"op": "replace", "path": "/applications/0/deploys", "value": []},
	])
}

test_fail_force_is_not_read if {
	some each in report with input as forced
	each.severity == "warning"
	each.path == ["spec", "syncPolicy", "syncOptions", 1]
	each.message == "Application owls has Force=true among its syncOptions, where Argo CD does not read it: nothing is forced"
}

test_fail_forced if {
	report == {lib.at(2, annotation, "TrainJob/owls/owls-1 has the sync option Force=true: it is deleted and started again where it differs")} with input as asking(client_side, "Force=true")
	count(report) == 1 with input as asking(applications.document, "Force=true,ServerSideApply=false")
}

test_fail_forced_server_side if {
	message := "TrainJob/owls/owls-1 has the sync option Force=true and is applied server-side, where kubectl forces nothing: every sync of it fails"
	found_there := object.union(lib.at(2, annotation, message), {"fix": "Remove Force=true."})
	report == {found_there} with input as asking(applications.document, "Force=true")
	report == {found_there} with input as asking(client_side, "ServerSideApply=true, Force=true")
}

test_fail_operation if {
	count(report) == 1 with input as applications.set("/objects/0/operation", {"sync": {"syncStrategy": {"apply": {"force": true}}}})
}

test_fail_annotation if {
	annotated := asked("Prune=false, Replace=true")
	report == {lib.at(2, annotation, "TrainJob/owls/owls-1 has the sync option Replace=true: it is refused where it differs, and loses what Kueue wrote into it where it waits")} with input as applications.set("/objects/-", annotated)
}

test_success_none if report == set() with input as applications.document

test_success_no_training if {
	report == set() with input as json.patch(replaced, [{"op": "replace", "path": "/applications/0/deploys", "value": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}]}])
}

test_success_platform if {
	report == set() with input as json.patch(replaced, [
		{"op": "replace", "path": "/applications/0/known", "value": false},
		{"op": "replace", "path": "/applications/0/deploys", "value": []},
		{"op": "replace", "path": "/applications/0/sources/0/spec/path", "value": "kueue/crds"},
	])
}

test_success_chart if {
	report == set() with input as json.patch(replaced, [
		{"op": "replace", "path": "/applications/0/known", "value": false},
		{"op": "replace", "path": "/applications/0/deploys", "value": []},
		{"op": "add", "path": "/applications/0/sources/0/spec/chart", "value": "dashboard"},
	])
}
