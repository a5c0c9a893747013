# METADATA
# title: The namespace exists
# description: |
#   Nothing can be created in a namespace that does not exist. One that is made by hand or by Argo CD's CreateNamespace has
#   none of the labels (Pod Security, queues) that the objects in it rely on.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/
#   description: namespaces
# custom:
#   seen:
#   - "lab: tests/lab/test_claims.py::test_nothing_is_made_in_a_namespace_that_does_not_exist"
#   - "source: kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go"
#   severity: warning
#   needs: cluster
#   fix: "Add the Namespace to the cluster's folder, or list it under `external` in cluster.yaml: `Namespace/{name}`."
#   example: |
#     kind: TrainJob
#     metadata: {name: run-1, namespace: no-such-namespace}
package rules.scope.namespace_exists

import data.lib

kinds := {"TrainJob", "JobSet", "TrainingRuntime", "LocalQueue", "PersistentVolumeClaim"}

report contains lib.at(i, ["metadata", "namespace"], message) if {
	some i, manifest in input.objects
	manifest.kind in kinds
	namespace := manifest.metadata.namespace
	not namespace in {"", "default", "kube-system"}
	not lib.exists("", "Namespace", "", namespace)
	message := sprintf("namespace %s is not among the objects of the target, its cluster or `external`", [namespace])
}
