# METADATA
# title: The project of an application allows what it deploys
# description: |
#   Argo CD refuses an Application whose repository or destination its AppProject does not list (InvalidSpecError), and
#   fails the sync of one that holds a kind that is not listed: every namespaced kind is allowed where there is no list,
#   cluster-scoped ones never are.
# related_resources:
# - ref: https://argo-cd.readthedocs.io/en/stable/user-guide/projects/
#   description: projects
# custom:
#   seen:
#   - "lab: tests/lab/test_argocd_claims.py::test_an_application_that_leads_nowhere_says_why"
#   - "lab: tests/lab/test_argocd.py::test_the_training_project_denies_what_a_run_may_not_hold"
#   - "source: argocd pkg/apis/application/v1alpha1/app_project_types.go"
#   - "source: argocd util/argo/argo.go"
#   - "source: argocd controller/sync.go"
#   severity: error
#   fix: "Let the AppProject list exactly this repository, destination or kind, or use the project that is meant for it."
#   symptoms:
#   - "InvalidSpecError: application destination server … and namespace … do not match any of the allowed destinations in project"
#   - "resource trainer.kubeflow.org:TrainJob is not permitted in project"
#   example: |
#     kind: AppProject
#     metadata: {name: training}
#     spec:
#       destinations: [{server: "https://kubernetes.default.svc", namespace: team-a}]   # its applications deploy into team-b
package rules.argocd.project_allows

import data.lib
import data.lib.argocd

report contains lib.at(app.object, array.concat(source.path, ["repoURL"]), sprintf("%s: the project %s does not allow the repository %s (sourceRepos: %s)", [argocd.title(app), app.spec.project, source.spec.repoURL, lib.joined(object.get(project.spec, "sourceRepos", []))])) if {
	some app in input.applications
	project := argocd.project(app)
	some source in app.sources
	not argocd.templated(source.spec.repoURL)
	not argocd.source_permitted(project, source.spec.repoURL)
}

report contains argocd.at(app, ["destination"], sprintf("%s: the project %s does not allow the destination %s", [argocd.title(app), app.spec.project, destination(app, namespace)])) if {
	some app in input.applications
	project := argocd.project(app)
	some _, text in app.spec.destination
	every value in object.union({"namespace": ""}, app.spec.destination) { not argocd.templated(value) }
	some namespace in namespaces(app)
	not argocd.destination_permitted(project, app.spec.destination, namespace)
}

report contains to_allow(app, list(manifest), sprintf("%s deploys %s, and the project %s does not allow %s", [argocd.title(app), lib.title(manifest), app.spec.project, lib.kind_id(manifest)])) if {
	some app in input.applications
	project := argocd.project(app)
	some manifest in argocd.deployed(app)
	not argocd.kind_permitted(project, manifest)
}

report contains to_allow(app, "namespaceResourceWhitelist", sprintf("%s is for training, and the project %s does not allow TrainJob.trainer.kubeflow.org", [argocd.title(app), app.spec.project])) if {
	some app in input.applications
	project := argocd.project(app)
	not app.known
	argocd.trains(app)
	count([manifest | some manifest in argocd.deployed(app); argocd.job(manifest)]) == 0
	not argocd.kind_permitted(project, {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob"})
}

# The namespaces that an Application deploys into.
namespaces(app) := {argocd.namespace(app)} | {namespace |
	some manifest in app.deploys
	lib.kind_id(manifest) in input.namespaced
	namespace := manifest.metadata.namespace
	namespace != ""
}

destination(app, namespace) := sprintf("namespace %s of %s", [quoted(namespace), cluster(app)])

quoted(namespace) := namespace if namespace != ""

quoted("") := "\"\""

cluster(app) := app.spec.destination.name

cluster(app) := app.spec.destination.server if not app.spec.destination.name

# At the list of the project where that is in the target, else at the application's mention of it.
to_allow(app, field, message) := lib.at(own_projects(app)[0], ["spec", field], message)

to_allow(app, _, message) := argocd.at(app, ["project"], message) if count(own_projects(app)) == 0

own_projects(app) := [i |
	some i, manifest in lib.objects(argocd.group, "AppProject")
	manifest == argocd.project(app)
	input.members[i]
]

list(manifest) := "clusterResourceWhitelist" if lib.kind_id(manifest) in input.cluster_scoped

list(manifest) := "namespaceResourceWhitelist" if lib.kind_id(manifest) in input.namespaced
