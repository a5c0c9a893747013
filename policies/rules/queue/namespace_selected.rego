# METADATA
# title: A ClusterQueue selects the namespaces of its LocalQueues
# description: |
#   A ClusterQueue admits only from namespaces that its namespaceSelector selects. An absent selector selects none,
#   an empty one ({}) selects all. What comes from another namespace stays inadmissible.
# related_resources:
# - ref: https://kueue.sigs.k8s.io/docs/concepts/cluster_queue/#namespace-selector
# custom:
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_what_the_queue_cannot_take_is_never_admitted"
#   - "source: kueue pkg/scheduler/scheduler.go"
#   - "source: kueue pkg/cache/scheduler/clusterqueue.go"
#   severity: error
#   needs: cluster
#   fix: "Write `namespaceSelector: {}` for all namespaces, or labels that the namespace has (every namespace has kubernetes.io/metadata.name)."
#   example: |
#     kind: ClusterQueue
#     metadata: {name: vision}
#     spec:  # no namespaceSelector: nothing is selected
#       resourceGroups: []
package rules.queue.namespace_selected

import data.lib
import data.lib.namespaces

report contains lib.at(i, ["spec", "namespaceSelector"], message) if {
	some i, queue in lib.objects("kueue.x-k8s.io", "ClusterQueue")
	object.get(queue.spec, "namespaceSelector", null) == null
	some local in locals(queue)
	message := sprintf("namespaceSelector is not set and selects no namespace: nothing in LocalQueue %s/%s is ever admitted", [local.metadata.namespace, local.metadata.name])
}

report contains lib.at(i, ["spec", "namespaceSelector"], message) if {
	some i, queue in lib.objects("kueue.x-k8s.io", "ClusterQueue")
	some local in locals(queue)
	failed := namespaces.unmet(queue.spec.namespaceSelector, local.metadata.namespace)
	count(failed) > 0
	message := sprintf("namespaceSelector does not select namespace %s (%s): nothing in its LocalQueue %s is ever admitted", [local.metadata.namespace, lib.joined(failed), local.metadata.name])
}

locals(queue) := [local |
	some local in lib.objects("kueue.x-k8s.io", "LocalQueue")
	local.spec.clusterQueue == queue.metadata.name
]
