# METADATA
# title: Cluster-scoped objects carry no namespace
# description: |
#   `namespace:` in a kustomization stamps every kind that kustomize does not know, the cluster-scoped ones too. The API
#   server and Argo CD take the namespace away again without a word: two overlays with different namespaces yield what
#   looks like two objects and is one, as the last of them has it.
# related_resources:
# - ref: https://github.com/kubernetes-sigs/kustomize/issues/2498
#   description: custom resources are taken for namespaced
# custom:
#   seen:
#   - "lab: tests/lab/test_claims.py::test_the_api_server_takes_the_namespace_from_what_has_none"
#   - "source: kustomize filters/namespace/namespace.go"
#   - "source: kubernetes staging/src/k8s.io/apiserver/pkg/registry/rest/meta.go"
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
