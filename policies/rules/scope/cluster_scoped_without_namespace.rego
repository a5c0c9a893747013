# METADATA
# title: Cluster-scoped objects carry no namespace
# description: |
#   `namespace:` in a kustomization stamps every kind that kustomize does not know, the cluster-scoped ones too. Strict
#   clients and Argo CD refuse or for ever differ on such objects, and two overlays with different namespaces yield what
#   looks like two objects and is one.
# related_resources:
# - ref: https://github.com/kubernetes-sigs/kustomize/issues/2498
#   description: custom resources are taken for namespaced
# custom:
#   severity: error
#   fix: |
#     Keep cluster-scoped objects in a kustomization without `namespace:` (and outside those that have one), or tell
#     kustomize the kind's scope in an `openapi:` file.
#   example: |
#     kind: ClusterTrainingRuntime
#     metadata: {name: tensorflow-distributed, namespace: training}
package rules.scope.cluster_scoped_without_namespace

import data.lib

report contains lib.at(i, ["metadata", "namespace"], message) if {
	some i, manifest in input.objects
	lib.kind_id(manifest) in input.cluster_scoped
	namespace := manifest.metadata.namespace
	namespace != ""
	message := sprintf("%s is cluster-scoped, but metadata.namespace is %s: it belongs to no namespace", [manifest.kind, namespace])
}
