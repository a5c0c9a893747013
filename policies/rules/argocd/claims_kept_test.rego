package rules_test.argocd.claims_kept

import data.lib
import data.rules.argocd.claims_kept.report
import data.rules_test.applications

claim := {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "nests", "namespace": "owls"}}

pruning := json.patch(applications.with_view("deploys", [claim]), [{"op": "add", "path": "/applications/0/spec/syncPolicy/automated/prune", "value": true}])

final := json.patch(applications.with_view("deploys", [claim]), [{"op": "replace", "path": "/applications/0/finalizers", "value": ["resources-finalizer.argocd.argoproj.io/background"]}])

annotated(document, options) := json.patch(document, [{"op": "add", "path": "/applications/0/deploys/0/metadata/annotations", "value": {"argocd.argoproj.io/sync-options": options}}])

test_fail_prune if {
	found := {lib.at(0, ["spec", "syncPolicy", "automated", "prune"], "Application owls deploys PersistentVolumeClaim/owls/nests and deletes it when its manifest goes")}
	report == found with input as pruning
	report == found with input as annotated(pruning, "Delete=false")
}

test_fail_finalizer if {
	report == {lib.at(0, ["metadata", "finalizers"], "Application owls deploys PersistentVolumeClaim/owls/nests and deletes it when the application goes")} with input as final
}

test_success_annotated if {
	report == set() with input as annotated(pruning, "Prune=false, Delete=false")
	report == set() with input as annotated(final, "Delete=false")
}

by_helm(document) := json.patch(document, [{"op": "add", "path": "/applications/0/deploys/0/metadata/annotations", "value": {"helm.sh/resource-policy": "keep"}}])

test_success_kept_as_by_helm if report == set() with input as by_helm(final)

test_fail_pruned_in_spite_of_helm if count(report) == 1 with input as by_helm(pruning)

test_success_kept if report == set() with input as applications.with_view("deploys", [claim])
