# METADATA
# title: The project of training runs is no wider than they need
# description: |
#   Whoever may add a run decides what its Application deploys. A project that takes everything from everywhere lets a run
#   bring cluster roles, other teams' namespaces, or manifests of a repository that nobody reviews.
# related_resources:
# - ref: https://argo-cd.readthedocs.io/en/stable/user-guide/projects/
#   description: projects
# custom:
#   seen:
#   - "lab: tests/lab/test_argocd.py::test_the_training_project_denies_what_a_run_may_not_hold"
#   - "source: argocd pkg/apis/application/v1alpha1/app_project_types.go"
#   severity: warning
#   fix: "List the repositories, namespaces and kinds that the runs need."
#   example: |
#     kind: AppProject
#     metadata: {name: training}
#     spec:
#       sourceRepos: ["*"]
#       destinations: [{server: "*", namespace: "*"}]
#       clusterResourceWhitelist: [{group: "*", kind: "*"}]
package rules.argocd.least_privilege

import data.lib
import data.lib.argocd

report contains lib.at(i, array.concat(["spec"], path), sprintf("the project %s is for training runs and allows %s", [project.metadata.name, what])) if {
	some i, project in lib.objects(argocd.group, "AppProject")
	for_training(project)
	some path, what in wide(project.spec)
}

for_training(project) if {
	some app in input.applications
	app.spec.project == project.metadata.name
	argocd.trains(app)
}

wide(spec) := object.union(
	object.union(
		{["sourceRepos"]: "every repository" | some pattern in spec.sourceRepos; pattern == "*"},
		{["destinations", i]: "every namespace" | some i, destination in spec.destinations; destination.namespace == "*"},
	),
	{["clusterResourceWhitelist"]: "every cluster-scoped kind" |
		some item in spec.clusterResourceWhitelist
		item.kind == "*"
		item.group == "*"
	},
)
