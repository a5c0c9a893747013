package rules_test.argocd.project_allows

import data.lib
import data.rules.argocd.project_allows.report
import data.rules_test.applications

refused_source := {lib.at(0, ["spec", "source", "repoURL"], "Application owls: the project science does not allow the repository https://git.example/science/runs.git (sourceRepos: https://git.example/others)")}

refused_destination(namespace) := {lib.at(0, ["spec", "destination"], sprintf("Application owls: the project science does not allow the destination namespace %s of https://kubernetes.default.svc", [namespace]))}

refused_kind(object, kind, field) := {lib.at(1, ["spec", field], sprintf("Application owls deploys %s, and the project science does not allow %s", [object, kind]))}

test_fail_source if report == refused_source with input as applications.with_project("sourceRepos", ["https://git.example/others"])

test_fail_source_denied if {
	count(report) == 1 with input as applications.with_project("sourceRepos", ["*", "!https://git.example/science/runs"])
}

test_fail_no_sources if count(report) == 1 with input as json.patch(applications.document, [{"op": "remove", "path": "/objects/1/spec/sourceRepos"}])

test_fail_star_is_one_segment if count(report) == 1 with input as applications.with_project("sourceRepos", ["https://git.example/*"])

test_fail_namespace if {
	report == refused_destination("owls") with input as applications.with_project("destinations", [{"server": "*", "namespace": "frogs"}])
}

test_fail_namespace_of_an_object if {
	report == refused_destination("frogs") with input as applications.with_view("deploys/0/metadata/namespace", "frogs")
}

test_fail_server if {
	report == refused_destination("owls") with input as applications.with_project("destinations", [{"server": "https://other.example", "namespace": "owls"}])
}

test_fail_denied_namespace if {
	report == refused_destination("owls") with input as applications.with_project("destinations", [
		{"server": "*", "namespace": "*"},
		{"server": "https://kubernetes.default.svc", "namespace": "!owls"},
	])
}

test_fail_denied_cluster if {
	report == refused_destination("owls") with input as applications.with_project("destinations", [
		{"server": "*", "namespace": "*"},
		{"server": "!https://kubernetes.default.svc", "namespace": "*"},
	])
	report == refused_destination("owls") with input as applications.with_project("destinations", [
		{"server": "*", "namespace": "*"},
		{"name": "!in-cluster", "namespace": "*"},
	])
}

test_fail_kind if {
	report == refused_kind("TrainJob/owls/owls-1", "TrainJob.trainer.kubeflow.org", "namespaceResourceWhitelist") with input as applications.with_project("namespaceResourceWhitelist", [{"group": "", "kind": "*"}])
	report == refused_kind("TrainJob/owls/owls-1", "TrainJob.trainer.kubeflow.org", "namespaceResourceWhitelist") with input as applications.with_project("namespaceResourceBlacklist", [{"group": "*", "kind": "Train*"}])
}

test_fail_cluster_scoped if {
	namespace := {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "owls"}}
	report == refused_kind("Namespace/owls", "Namespace", "clusterResourceWhitelist") with input as applications.with_view("deploys", [namespace])
	listed := json.patch(applications.with_view("deploys", [namespace]), [{"op": "add", "path": "/objects/1/spec/clusterResourceWhitelist", "value": [{"group": "*", "kind": "*"}]}])
	report == set() with input as listed
	report == refused_kind("Namespace/owls", "Namespace", "clusterResourceWhitelist") with input as json.patch(listed, [{"op": "add", "path": "/objects/1/spec/clusterResourceBlacklist", "value": [{"group": "", "kind": "Namespace"}]}])
}

test_fail_called_training if {
	report == {lib.at(1, ["spec", "namespaceResourceWhitelist"], "Application nightly-training is for training, and the project science does not allow TrainJob.trainer.kubeflow.org")} with input as json.patch(applications.elsewhere, [
		{"op": "replace", "path": "/applications/0/name", "value": "nightly-training"},
		{"op": "replace", "path": "/objects/1/spec/namespaceResourceWhitelist", "value": [{"group": "", "kind": "ConfigMap"}]},
	])
}

test_fail_project_beside if {
	report == {lib.at(
		0, ["spec", "project"],
		"Application owls deploys TrainJob/owls/owls-1, and the project science does not allow TrainJob.trainer.kubeflow.org",
	)} with input as json.patch(
		applications.with_project("namespaceResourceWhitelist", []),
		[{"op": "replace", "path": "/members/1", "value": false}],
	)
}

test_success_listed if report == set() with input as applications.document

test_success_patterns if {
	report == set() with input as applications.with_project("sourceRepos", ["*", "!https://git.example/frogs/*"])
	report == set() with input as applications.with_project("sourceRepos", ["https://GIT.example/science/runs"])
	report == set() with input as applications.with_project("destinations", [{"name": "in-cluster", "namespace": "o*"}])
	report == set() with input as applications.with_project("destinations", [{"server": "*", "namespace": "!kube-system"}])
}

test_success_every_namespaced_kind if {
	report == set() with input as json.patch(applications.document, [{"op": "remove", "path": "/objects/1/spec/namespaceResourceWhitelist"}])
}

test_success_name_of_unknown_server if {
	report == set() with input as json.patch(
		applications.with_project("destinations", [{"server": "https://gpu.example", "namespace": "owls"}]),
		[{"op": "replace", "path": "/applications/0/spec/destination", "value": {"name": "gpu", "namespace": "owls"}}],
	)
}

test_success_template if {
	report == set() with input as json.patch(applications.document, [
		{"op": "replace", "path": "/applications/0/spec/destination/namespace", "value": "{{ .team }}"},
		{"op": "replace", "path": "/applications/0/sources/0/spec/repoURL", "value": "{{ .url }}"},
	])
}

test_success_unknown_kind if {
	report == set() with input as applications.with_view("deploys", [{"apiVersion": "example.org/v1", "kind": "Owl", "metadata": {"name": "a"}}])
}
