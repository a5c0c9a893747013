package rules_test.argocd.server_side_apply

import data.lib
import data.rules.argocd.server_side_apply.report
import data.rules_test.applications

trainer := {"repoURL": "https://github.com/kubeflow/trainer.git", "path": "manifests/overlays/manager", "targetRevision": "v2.3.0"}

chart(name, helm) := {"repoURL": "charts.example/all", "chart": name, "targetRevision": "2.3.0", "helm": helm}

deploying(source, options) := json.patch(applications.elsewhere, [
	{"op": "replace", "path": "/applications/0/sources/0/spec", "value": source},
	{"op": "replace", "path": "/applications/0/spec/syncPolicy/syncOptions", "value": options},
])

at := ["spec", "syncPolicy", "syncOptions"]

failing(what) := {lib.at(0, at, sprintf("Application owls applies %s client-side: every sync of it fails (metadata.annotations: Too long)", [what]))}

definitions(name) := failing(sprintf("the CustomResourceDefinitions of %s", [name]))

test_fail_repository if {
	report == definitions("Trainer") with input as deploying(trainer, [])
	report == definitions("Trainer") with input as deploying(object.union(trainer, {"path": "manifests/base/crds/"}), ["CreateNamespace=true"])
	report == definitions("Kueue") with input as deploying({"repoURL": "https://github.com/kubernetes-sigs/kueue", "path": "config/default"}, [])
	report == definitions("JobSet") with input as deploying({"repoURL": "https://github.com/kubernetes-sigs/jobset", "path": "config/components/crd"}, [])
}

test_fail_chart if {
	report == definitions("Trainer") with input as deploying(chart("kubeflow-trainer", {}), [])
	report == definitions("Trainer") with input as deploying(chart("kubeflow-trainer", {"values": "crds: {enabled: true}"}), [])
	report == definitions("Kueue") with input as deploying(chart("kueue", {"skipCrds": true}), [])
	report == definitions("JobSet") with input as deploying({"repoURL": "oci://registry.example/jobset/charts/jobset", "path": "."}, [])
}

# What the repository itself holds is measured.
definition(size, annotations) := json.patch(applications.with_view("spec/syncPolicy/syncOptions", []), [{"op": "replace", "path": "/applications/0/deploys", "value": [{
	"apiVersion": "apiextensions.k8s.io/v1",
	"kind": "CustomResourceDefinition",
	"metadata": {"name": "owls.science.example", "annotations": annotations},
	"bytes": size,
}]}])

test_fail_own_definitions if report == failing("CustomResourceDefinition/owls.science.example") with input as definition(262145, {})

test_success_own_definitions if {
	report == set() with input as definition(262144, {})
	report == set() with input as definition(262145, {"argocd.argoproj.io/hook": "Skip"})
	report == set() with input as definition(262145, {"argocd.argoproj.io/sync-options": "Prune=false, ServerSideApply=true"})
	report == set() with input as json.patch(definition(262145, {}), [{"op": "add", "path": "/applications/0/spec/syncPolicy/syncOptions/-", "value": "ServerSideApply=true"}])
}

test_fail_replaced if {
	message := "Application owls replaces what Trainer's own controller writes into: each sync takes its certificates out of Secrets and webhooks"
	found := {lib.at(0, ["spec", "syncPolicy", "syncOptions", 1], message)}
	report == found with input as deploying(trainer, ["ServerSideApply=true", "Replace=true"])
	report == found with input as deploying(chart("kubeflow-trainer", {}), ["CreateNamespace=true", "Replace=true"])
}

test_success_server_side if {
	report == set() with input as deploying(trainer, ["ServerSideApply=true"])
	report == set() with input as deploying(chart("kueue", {}), ["CreateNamespace=true", "ServerSideApply=true"])
}

# Volcano's are small, and the runtimes are no definitions.
test_success_others if {
	report == set() with input as deploying(chart("volcano", {}), [])
	report == set() with input as deploying(chart("dashboard", {}), ["Replace=true"])
	report == set() with input as deploying(object.union(trainer, {"path": "manifests/overlays/runtimes"}), [])
	report == set() with input as deploying({"repoURL": "https://git.example/science/kueue", "path": "config/default"}, [])
}

test_success_left_out if {
	every helm in [{"skipCrds": true}, {"valuesObject": {"crds": {"enabled": false}}}, {"parameters": [{"name": "crds.enabled", "value": "false"}]}, {"valueFiles": ["ours.yaml"]}] {
		report == set() with input as deploying(chart("kubeflow-trainer", helm), [])
	}
}

test_success_told_elsewhere if {
	report == set() with input as deploying(object.union(trainer, {"kustomize": {"commonAnnotations": {"argocd.argoproj.io/sync-options": "ServerSideApply=true"}}}), [])
	every patch in ["[{op: add, path: /metadata/annotations/argocd.argoproj.io~1sync-options, value: ServerSideApply=true}]", "{$patch: delete}"] {
		patches := [{"target": {"kind": "CustomResourceDefinition"}, "patch": patch}]
		report == set() with input as deploying(object.union(trainer, {"kustomize": {"patches": patches}}), [])
	}
	report == set() with input as deploying(trainer, ["{{options}}"])
	report == set() with input as json.patch(deploying(trainer, []), [{"op": "add", "path": "/objects/0/spec/templatePatch", "value": "spec: {}"}])
}
