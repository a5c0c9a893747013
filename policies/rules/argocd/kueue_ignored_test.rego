package rules_test.argocd.kueue_ignored

import data.lib
import data.rules.argocd.kueue_ignored.report
import data.rules_test.applications

client_side := applications.with_view("spec/syncPolicy/syncOptions", ["RespectIgnoreDifferences=true"])

with_view(field, value) := json.patch(client_side, [{"op": "add", "path": sprintf("/applications/0/%s", [field]), "value": value}])

# An Application that applies server-side and ignores nothing; its run has this in its spec.
server_side(spec) := json.patch(applications.with_view("spec/ignoreDifferences", []), [{"op": "add", "path": "/applications/0/deploys/0/spec", "value": spec}])

ignoring(entry) := with_view("spec/ignoreDifferences", [object.union({"group": "trainer.kubeflow.org", "kind": "TrainJob"}, entry)])

harm := {
	"spec.suspend": "a sync suspends a run that Kueue started, or starts one that it holds",
	"Kueue's spec.runtimePatches": "a sync takes them from a run that waits, which then never starts, and fails where it was admitted",
}

found(fields) := {lib.at(0, ["spec", "ignoreDifferences"], sprintf("Application owls deploys TrainJobs that Kueue queues and does not ignore %s: %s", [field, harm[field]])) |
	some field in fields
}

given(document, spec) := json.patch(document, [{"op": "add", "path": "/applications/0/deploys/0/spec", "value": spec}])

test_fail_none if {
	report == found({"Kueue's spec.runtimePatches"}) with input as with_view("spec/ignoreDifferences", [])
	report == found({"Kueue's spec.runtimePatches", "spec.suspend"}) with input as given(with_view("spec/ignoreDifferences", []), {"suspend": true})
}

test_fail_suspend_alone if report == found({"Kueue's spec.runtimePatches"}) with input as ignoring({"jsonPointers": ["/spec/suspend"]})

test_fail_time_alone if {
	report == found({"Kueue's spec.runtimePatches"}) with input as ignoring({"jqPathExpressions": [".spec.suspend", ".spec.runtimePatches[]?.time"]})
}

patches_alone := ignoring({"jqPathExpressions": [`.spec.runtimePatches[] | select(.manager == "kueue.x-k8s.io/manager")`]})

test_fail_suspend_in_git if report == found({"spec.suspend"}) with input as given(patches_alone, {"suspend": false})

test_fail_replaced if {
	replaced := json.patch(patches_alone, [{"op": "add", "path": "/applications/0/spec/syncPolicy/syncOptions/-", "value": "Replace=true"}])
	report == found({"spec.suspend"}) with input as replaced
}

test_success_no_suspend_in_git if report == set() with input as patches_alone

test_fail_other_kind if count(report) == 1 with input as ignoring({"kind": "JobSet", "jsonPointers": ["/spec"]})

test_fail_not_respected if {
	report == {lib.at(
		0, ["spec", "syncPolicy", "syncOptions"],
		"Application owls ignores what Kueue writes into TrainJobs but lacks RespectIgnoreDifferences=true: a sync still writes it",
	)} with input as with_view("spec/syncPolicy/syncOptions", [])
}

# An Application of another repository that applies client-side.
elsewhere := json.patch(applications.elsewhere, [
	{"op": "replace", "path": "/applications/0/spec/syncPolicy/syncOptions", "value": ["RespectIgnoreDifferences=true"]},
	{"op": "replace", "path": "/applications/0/spec/ignoreDifferences", "value": []},
])

test_fail_called_so if {
	count(report) == 1 with input as json.patch(elsewhere, [{"op": "replace", "path": "/applications/0/spec/project", "value": "training"}])
	queue := {"kind": "LocalQueue", "namespace": "owls", "name": "night"}
	count(report) == 1 with input as json.patch(elsewhere, [{"op": "add", "path": "/cluster/external/-", "value": queue}])
}

test_success_server_side_elsewhere if {
	report == set() with input as json.patch(elsewhere, [{"op": "add", "path": "/applications/0/spec/syncPolicy/syncOptions/-", "value": "ServerSideApply=true"}])
}

test_fail_server_side if {
	report == found({"spec.suspend"}) with input as server_side({"suspend": true})
	report == set() with input as json.patch(with_view("spec/ignoreDifferences", []), [{"op": "add", "path": "/applications/0/deploys/0/metadata/annotations", "value": {"argocd.argoproj.io/sync-options": "ServerSideApply=true"}}])
	count(report) == 1 with input as server_side({"runtimePatches": [{"manager": "kueue.x-k8s.io/manager"}]})
	count(report) == 1 with input as json.patch(server_side({}), [{"op": "add", "path": "/applications/0/deploys/0/metadata/annotations", "value": {"argocd.argoproj.io/sync-options": "ServerSideApply=false"}}])
	count(report) == 2 with input as json.patch(server_side({}), [{"op": "add", "path": "/applications/0/spec/syncPolicy/syncOptions/-", "value": "Replace=true"}])
}

test_success_server_side if {
	report == set() with input as server_side({})
	report == set() with input as server_side({"runtimePatches": [{"manager": "training.example/run"}]})
}

# Names say nothing, and Volcano is there as well: what is ignored tells.
test_fail_half_of_it if {
	suspend := [{"group": "trainer.kubeflow.org", "kind": "TrainJob", "jsonPointers": ["/spec/suspend"]}]
	count(report) == 1 with input as json.patch(elsewhere, [
		{"op": "replace", "path": "/applications/0/spec/ignoreDifferences", "value": suspend},
		{"op": "replace", "path": "/applications/0/sources/0/spec/path", "value": "birds/owls"},
		{"op": "add", "path": "/cluster/versions/volcano", "value": "1.14.1"},
	])
}

test_fail_project_for_training if {
	count(report) == 1 with input as json.patch(elsewhere, [
		{"op": "replace", "path": "/applications/0/sources/0/spec/path", "value": "birds/owls"},
	])
}

test_success_other_project if {
	report == set() with input as json.patch(elsewhere, [
		{"op": "replace", "path": "/applications/0/sources/0/spec/path", "value": "birds/owls"},
		{"op": "replace", "path": "/objects/1/spec/namespaceResourceWhitelist", "value": [{"group": "", "kind": "ConfigMap"}]},
	])
}

test_success_pointers if report == set() with input as applications.document

test_success_jq if {
	report == set() with input as ignoring({"jqPathExpressions": [".spec.suspend", `.spec.runtimePatches[] | select(.manager == "kueue.x-k8s.io/manager")`]})
}

test_success_whole_spec if {
	report == set() with input as ignoring({"jqPathExpressions": [".spec"]})
	report == set() with input as ignoring({"kind": "*", "group": "*", "jsonPointers": ["/spec"]})
}

test_success_manager if report == set() with input as ignoring({"managedFieldsManagers": ["kueue-admission"]})

test_success_system if {
	config := {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "argocd-cm"}, "data": {"resource.customizations.ignoreDifferences.trainer.kubeflow.org_TrainJob": "jsonPointers: [/spec/suspend, /spec/runtimePatches]"}}
	report == set() with input as json.patch(
		with_view("spec/ignoreDifferences", []),
		[{"op": "add", "path": "/objects/-", "value": config}],
	)
}

test_success_no_kueue if {
	report == set() with input as json.patch(
		with_view("spec/ignoreDifferences", []),
		[{"op": "replace", "path": "/cluster/versions", "value": {"volcano": "1.14.1"}}],
	)
}

test_success_not_queued if {
	report == set() with input as json.patch(
		with_view("spec/ignoreDifferences", []),
		[{"op": "remove", "path": "/applications/0/deploys/0/metadata/labels"}],
	)
}

test_success_template_patch if {
	report == set() with input as json.patch(
		with_view("spec/ignoreDifferences", []),
		[{"op": "add", "path": "/objects/0/spec/templatePatch", "value": "spec: {}"}],
	)
}
