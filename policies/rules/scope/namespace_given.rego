# METADATA
# title: Namespaced objects say which namespace
# description: |
#   An object without a namespace goes wherever the one who applies it happens to be, while its queue, runtime, claims and
#   ConfigMaps are looked up in its own namespace.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/
#   description: namespaces
# custom:
#   seen:
#   - "lab: tests/lab/test_argocd_claims.py::test_an_object_of_two_applications_is_the_ones_that_applied_it_last"
#   - "source: argocd controller/state.go"
#   severity: warning
#   needs: cluster
#   fix: "Write metadata.namespace, or `namespace:` in the kustomization of the namespaced objects."
#   example: |
#     kind: TrainJob
#     metadata: {name: run-1}
package rules.scope.namespace_given

import data.lib

# What looks others up in its namespace: without one its references lead nowhere.
decisive := {"TrainJob", "JobSet", "LocalQueue", "TrainingRuntime"}

report contains object.union(lib.at(i, ["metadata", "namespace"], message), severity(manifest.kind)) if {
	some i, manifest in input.objects
	lib.kind_id(manifest) in input.namespaced
	object.get(manifest.metadata, "namespace", "") == ""
	message := sprintf("%s is namespaced and has no namespace: it goes wherever the one who applies it happens to be", [manifest.kind])
}

severity(kind) := {"severity": "error"} if kind in decisive

severity(kind) := {} if not kind in decisive
