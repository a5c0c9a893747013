# METADATA
# title: The labels of a flavor select nodes
# description: |
#   Kueue gives admitted pods the nodeLabels of their flavor as nodeSelector and does not look whether there is such a
#   node: the run is admitted, holds its quota, and its pods stay Pending for ever. With a topology the run is not even
#   admitted.
# related_resources:
# - ref: https://kueue.sigs.k8s.io/docs/concepts/resource_flavor/#resourceflavor-labels
# custom:
#   severity: error
#   needs: cluster
#   seen:
#   - "lab: tests/lab/test_nodes.py::test_pods_that_no_node_takes_hold_their_quota_and_wait"
#   - "lab: tests/lab/test_nodes.py::test_a_flavor_of_no_nodes_that_has_a_topology_admits_nothing"
#   - "source: kueue pkg/podset/podset.go"
#   fix: "Write labels that the nodes of a pool have, or write the pool's labels into cluster.yaml."
#   example: |
#     # cluster.yaml: nodes: [{pool: h100, labels: {gpu: h100}, ...}]
#     kind: ResourceFlavor
#     metadata: {name: h100}
#     spec: {nodeLabels: {gpu: h-100}}
package rules.queue.flavor_has_nodes

import data.lib
import data.lib.pools

report contains lib.at(i, ["spec", "nodeLabels"], message) if {
	some i, flavor in lib.objects("kueue.x-k8s.io", "ResourceFlavor")
	used(flavor.metadata.name)
	pools.nowhere(flavor.spec.nodeLabels)
	message := sprintf("no pool of cluster %s has nodes with %s: pods that are admitted with this flavor never find a node", [
		input.cluster.name,
		concat(", ", [sprintf("%s=%s", [key, flavor.spec.nodeLabels[key]]) | some key in sort(object.keys(flavor.spec.nodeLabels))]),
	])
}

used(name) if {
	some queue in lib.objects("kueue.x-k8s.io", "ClusterQueue")
	some group in queue.spec.resourceGroups
	some flavor in group.flavors
	flavor.name == name
}
