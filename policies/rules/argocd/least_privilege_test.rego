package rules_test.argocd.least_privilege

import data.lib
import data.rules.argocd.least_privilege.report
import data.rules_test.applications

found(path, what) := {lib.at(1, array.concat(["spec"], path), sprintf("the project science is for training runs and allows %s", [what]))}

test_fail_repositories if report == found(["sourceRepos"], "every repository") with input as applications.with_project("sourceRepos", ["*"])

test_fail_namespaces if {
	report == found(["destinations", 0], "every namespace") with input as applications.with_project("destinations", [{"server": "https://kubernetes.default.svc", "namespace": "*"}])
}

test_fail_kinds if {
	report == found(["clusterResourceWhitelist"], "every cluster-scoped kind") with input as applications.with_project("clusterResourceWhitelist", [{"group": "*", "kind": "*"}])
}

test_success_narrow if report == set() with input as applications.document

test_success_not_for_training if {
	report == set() with input as json.patch(
		applications.with_project("sourceRepos", ["*"]),
		[{"op": "replace", "path": "/applications/0/deploys", "value": []}],
	)
}
