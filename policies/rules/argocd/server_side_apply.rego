# METADATA
# title: What is too big for client-side apply is applied server-side
# description: |
#   Client-side apply keeps the whole object in an annotation, and all annotations together may have 262144 bytes: the
#   CustomResourceDefinitions of Trainer, JobSet and Kueue have more, so that without ServerSideApply=true their sync
#   fails and the component is not installed, or keeps the definitions of the version before. Replace=true goes before
#   ServerSideApply: it works, and each sync writes the objects as they are in Git, without what the component's own
#   controller has put into them: the certificates in Secrets and the caBundle of webhooks, without which the API server
#   refuses or does not convert what the webhooks are for. An option in the annotations of an object counts for that object.
# related_resources:
# - ref: https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/#server-side-apply
#   description: ServerSideApply
# - ref: https://github.com/argoproj/argo-cd/issues/820
#   description: objects that are too big for the annotation
# custom:
#   symptoms:
#   - "metadata.annotations: Too long: may not be more than 262144 bytes"
#   seen:
#   - "lab: tests/lab/test_argocd_claims.py::test_a_definition_that_is_too_big_is_applied_server_side_or_replaced"
#   - "lab: tests/lab/test_argocd_claims.py::test_what_a_controller_writes_is_lost_where_argo_cd_replaces"
#   - "source: kubernetes staging/src/k8s.io/apimachinery/pkg/api/validation/objectmeta.go"
#   - "source: gitops-engine pkg/sync/sync_context.go"
#   - "source: trainer manifests/base/crds/trainer.kubeflow.org_clustertrainingruntimes.yaml"
#   - "source: trainer manifests/overlays/manager/kustomization.yaml"
#   - "source: jobset config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml"
#   - "source: kueue config/components/crd/bases/kueue.x-k8s.io_workloads.yaml"
#   severity: error
#   fix: "Write ServerSideApply=true among the syncOptions of the Application, and no Replace=true."
#   example: |
#     kind: Application
#     spec:
#       source: {repoURL: ghcr.io/kubeflow/charts, chart: kubeflow-trainer, targetRevision: 2.3.0}
#       syncPolicy: {syncOptions: [CreateNamespace=true]}
package rules.argocd.server_side_apply

import data.lib
import data.lib.argocd

report contains argocd.at(app, ["syncPolicy", "syncOptions"], message) if {
	some app in input.applications
	client_side(app)
	not argocd.has_option(app, "Replace=true")
	some what in too_big(app)
	message := sprintf("%s applies %s client-side: every sync of it fails (metadata.annotations: Too long)", [argocd.title(app), what])
}

report contains argocd.at(app, each.path, message) if {
	some app in input.applications
	some each in argocd.options(app)
	each.option == "Replace=true"
	some component in {component | some source in app.sources; component := definitions_of(source.spec)}
	message := sprintf("%s replaces what %s's own controller writes into: each sync takes its certificates out of Secrets and webhooks", [argocd.title(app), names[component]])
}

names := {"trainer": "Trainer", "kueue": "Kueue", "jobset": "JobSet"}

# Where options or objects are filled in elsewhere, nothing is said.
client_side(app) if {
	not argocd.has_option(app, "ServerSideApply=true")
	not input.objects[app.object].spec.templatePatch
	every each in argocd.options(app) { not argocd.templated(each.option) }
}

too_big(app) := {sprintf("the CustomResourceDefinitions of %s", [names[component]]) |
	some source in app.sources
	component := definitions_of(source.spec)
} | {lib.title(manifest) |
	some manifest in app.deploys
	not manifest.metadata.annotations["argocd.argoproj.io/hook"] == "Skip"
	not "Replace=true" in asked(manifest)
	not "ServerSideApply=true" in asked(manifest)
	manifest.bytes > 262144
}

asked(manifest) := {trim_space(option) | some option in split(object.get(manifest.metadata, ["annotations", argocd.sync_options], ""), ",")}

# The component whose CustomResourceDefinitions a source holds, where nothing in it may leave them out or annotate them.
definitions_of(source) := component if {
	component := argocd.installs(source)
	holds(source, component)
	not left_out(source, component)
	every word in ["sync-options", "CustomResourceDefinition"] { not contains(json.marshal(source), word) }
}

holds(source, component) if {
	argocd.chart(source)
	names[component]
}

holds(source, component) if {
	not argocd.chart(source)
	regex.match(folders[component], source.path)
}

folders := {
	"trainer": `^/?(manifests/(base/crds|overlays/(manager|data-cache|kubeflow-platform)|third-party/jobset)|charts/kubeflow-trainer)/?$`,
	"kueue": `^/?(config/(default|alpha-enabled|components/crd)|charts/kueue)/?$`,
	"jobset": `^/?(config/(default|components/crd)|charts/jobset)/?$`,
}

# Kueue's chart has its definitions among its templates, whatever the values are.
left_out(source, component) if {
	component != "kueue"
	source.helm.skipCrds == true
}

left_out(source, "trainer") if argocd.helm_value(source, ["crds", "enabled"]) == false

left_out(source, "trainer") if count(source.helm.valueFiles) > 0
