# METADATA
# title: Argo CD deploys the cluster that cluster.yaml describes
# description: |
#   Kustomize cannot read cluster.yaml, so what its `argocd`, `versions` and `trainingNamespaces` say stands in the
#   applications once more. Where the two differ, the gate judges by facts that are not those of the cluster that gets
#   the manifests: a folder that was copied deploys the cluster that it was copied from, or a run meets another version of
#   its controllers than the one that it was judged for.
# related_resources:
# - ref: https://argo-cd.readthedocs.io/en/stable/operator-manual/declarative-setup/#applications
#   description: source and destination of an application
# custom:
#   symptoms:
#   - "a new cluster stays empty, and another one is OutOfSync"
#   severity: error
#   needs: cluster
#   seen:
#   - "lab: tests/lab/test_argocd_claims.py::test_an_application_of_another_cluster_is_synced_and_leaves_its_own_empty"
#   - "source: argocd pkg/apis/application/v1alpha1/types.go"
#   fix: "Say the same in both: argocd, versions and trainingNamespaces of cluster.yaml, and the application or the facts that it is made from (argocd/facts/facts.yaml)."
#   example: |
#     # cluster.yaml: argocd: {destination: h100, repository: "https://git.example/training.git", revision: main}
#     kind: Application
#     spec:
#       source: {repoURL: "https://git.example/training.git", targetRevision: main, path: clusters/h100/queues}
#       destination: {name: v100}
package rules.argocd.as_the_cluster

import data.lib
import data.lib.argocd

report contains at_source(s, "repoURL", sprintf("%s: the repository is %s, and cluster.yaml says %s", [argocd.title(s.app), s.spec.repoURL, facts.repository])) if {
	some s in sources
	folder(s) == input.cluster.name
	not argocd.templated(s.spec.repoURL)
	argocd.repository(s.spec.repoURL) != argocd.repository(facts.repository)
}

report contains at_source(s, "targetRevision", sprintf("%s: the revision is %s, and cluster.yaml says %s", [argocd.title(s.app), s.spec.targetRevision, facts.revision])) if {
	some s in sources
	folder(s) == input.cluster.name
	not argocd.templated(s.spec.targetRevision)
	s.spec.targetRevision != facts.revision
}

report contains argocd.at(s.app, ["destination", "name"], sprintf("%s: the destination is %s, and cluster.yaml says %s", [argocd.title(s.app), name, facts.destination])) if {
	some s in sources
	folder(s) == input.cluster.name
	not for_argocd_itself(s)
	name := argocd.cluster_name(s.app.spec.destination)
	not argocd.templated(name)
	name != facts.destination
}

# To another destination it may be meant: one cluster's Argo CD that deploys others.
report contains object.union(at_source(s, "path", sprintf("%s: it deploys the folder of cluster %s, and this is cluster %s", [argocd.title(s.app), folder(s), input.cluster.name])), {"severity": severity(s)}) if {
	some s in sources
	folder(s) != input.cluster.name
	not argocd.templated(s.spec.path)
	not for_argocd_itself(s)
	argocd.repository(s.spec.repoURL) == argocd.repository(facts.repository)
}

report contains at_source(s, "targetRevision", sprintf("%s: it installs %s %s, and versions in cluster.yaml says %s", [argocd.title(s.app), component, s.spec.targetRevision, version])) if {
	some s in sources
	component := argocd.installs(s.spec)
	version := input.cluster.versions[component]
	regex.match(`^v?[0-9]+\.[0-9]+\.[0-9]+$`, s.spec.targetRevision)
	trim_prefix(s.spec.targetRevision, "v") != version
}

report contains argocd.at(app, ["destination", "namespace"], sprintf("%s: it deploys runs to namespace %s, and the training namespaces of cluster.yaml are %s", [argocd.title(app), argocd.namespace(app), lib.joined(input.cluster.trainingNamespaces)])) if {
	some app in input.applications
	argocd.trains(app)
	not argocd.namespace(app) == ""
	not argocd.templated(argocd.namespace(app))
	not argocd.namespace(app) in input.cluster.trainingNamespaces
}

facts := input.cluster.argocd

severity(s) := "error" if {
	argocd.cluster_name(s.app.spec.destination) == facts.destination
} else := "warning"

sources := [{"app": app, "spec": source.spec, "path": source.path} | some app in input.applications; some source in app.sources]

at_source(s, field, message) := lib.at(s.app.object, array.concat(s.path, [field]), message)

# The cluster whose folder a source is.
folder(s) := regex.find_all_string_submatch_n(`^/?clusters/([^/]+)(/|$)`, s.spec.path, 1)[0][1]

# The projects and applications of a cluster are made where Argo CD runs, whichever cluster they are for.
for_argocd_itself(s) if regex.match(`^/?clusters/[^/]+/argocd(/|$)`, s.spec.path)
