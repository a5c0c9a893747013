# METADATA
# title: The topology of a flavor exists
# description: |
#   A ResourceFlavor that names a Topology which does not exist makes every ClusterQueue with that flavor inactive
#   (TopologyNotFound): nothing that is sent to it is ever admitted.
# related_resources:
# - ref: https://kueue.sigs.k8s.io/docs/concepts/topology_aware_scheduling/
# custom:
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_a_queue_that_names_what_is_missing_is_inactive"
#   - "source: kueue pkg/cache/scheduler/clusterqueue.go"
#   severity: error
#   needs: cluster
#   fix: "Write the name of an existing Topology in spec.topologyName, add it, or remove the field."
#   example: |
#     kind: ResourceFlavor
#     metadata: {name: h100}
#     spec: {topologyName: rakcs, nodeLabels: {pool: h100}}  # the Topology is called racks
package rules.queue.topology_exists

import data.lib

report contains lib.at(i, ["spec", "topologyName"], sprintf("Topology %s does not exist (there is: %s): ClusterQueues with this flavor are inactive and admit nothing", [name, lib.names("kueue.x-k8s.io", "Topology", "")])) if {
	some i, flavor in lib.objects("kueue.x-k8s.io", "ResourceFlavor")
	name := flavor.spec.topologyName
	not lib.exists("kueue.x-k8s.io", "Topology", "", name)
}
