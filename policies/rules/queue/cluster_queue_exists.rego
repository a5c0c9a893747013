# METADATA
# title: The ClusterQueue of a LocalQueue exists
# description: |
#   A LocalQueue that names no existing ClusterQueue is inactive: whatever is sent to it waits for ever.
# related_resources:
# - ref: https://github.com/kubernetes-sigs/kueue/issues/3439
# custom:
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_what_the_queue_cannot_take_is_never_admitted"
#   - "source: kueue pkg/controller/core/workload_controller.go"
#   severity: error
#   needs: cluster
#   fix: "Write the name of an existing ClusterQueue in spec.clusterQueue, or add the ClusterQueue. Kustomize does not follow a changed name by itself: add a nameReference or a replacement."
#   example: |
#     kind: LocalQueue
#     metadata: {name: daytime, namespace: vision}
#     spec: {clusterQueue: visoin}  # the ClusterQueue is called vision
package rules.queue.cluster_queue_exists

import data.lib

report contains lib.at(i, ["spec", "clusterQueue"], sprintf("ClusterQueue %s does not exist (there is: %s): nothing in this LocalQueue is ever admitted", [name, lib.names("kueue.x-k8s.io", "ClusterQueue", "")])) if {
	some i, queue in lib.objects("kueue.x-k8s.io", "LocalQueue")
	name := queue.spec.clusterQueue
	not lib.exists("kueue.x-k8s.io", "ClusterQueue", "", name)
}
