package rules_test.argocd.no_force_or_replace

import data.lib
import data.rules.argocd.no_force_or_replace.report
import data.rules_test.applications

forced := applications.with_view("spec/syncPolicy/syncOptions", ["ServerSideApply=true", "Force=true"])

found := {lib.at(0, ["spec", "syncPolicy", "syncOptions", 1], "Application owls deploys training with Force=true: a TrainJob is deleted and started again where it differs")}

test_fail_forced if report == found with input as forced

test_fail_not_known if {
	report == found with input as json.patch(forced, [
		{"op": "replace", "path": "/applications/0/known", "value": false},
		{"op": "replace", "path": "/applications/0/deploys", "value": []},
	])
}

test_fail_operation if {
	count(report) == 1 with input as applications.set("/objects/0/operation", {"sync": {"syncStrategy": {"apply": {"force": true}}}})
}

test_fail_annotation if {
	annotated := json.patch(applications.run, [{"op": "add", "path": "/metadata/annotations", "value": {"argocd.argoproj.io/sync-options": "Prune=false, Replace=true"}}])
	report == {lib.at(2, ["metadata", "annotations", "argocd.argoproj.io/sync-options"], "TrainJob/owls/owls-1 has the sync option Replace=true: it is refused where it differs, and loses what Kueue wrote into it where it waits")} with input as applications.set("/objects/-", annotated)
}

test_success_none if report == set() with input as applications.document

test_success_no_training if {
	report == set() with input as json.patch(forced, [{"op": "replace", "path": "/applications/0/deploys", "value": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}]}])
}

test_success_platform if {
	report == set() with input as json.patch(forced, [
		{"op": "replace", "path": "/applications/0/known", "value": false},
		{"op": "replace", "path": "/applications/0/deploys", "value": []},
		{"op": "replace", "path": "/applications/0/sources/0/spec/path", "value": "kueue/crds"},
	])
}

test_success_chart if {
	report == set() with input as json.patch(forced, [
		{"op": "replace", "path": "/applications/0/known", "value": false},
		{"op": "replace", "path": "/applications/0/deploys", "value": []},
		{"op": "add", "path": "/applications/0/sources/0/spec/chart", "value": "dashboard"},
	])
}
