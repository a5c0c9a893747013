# METADATA
# title: The flavors of a ClusterQueue exist
# description: |
#   One missing ResourceFlavor makes the whole ClusterQueue inactive (FlavorNotFound), also for runs that would use
#   another flavor.
# related_resources:
# - ref: https://kueue.sigs.k8s.io/docs/concepts/resource_flavor/
# custom:
#   symptoms:
#   - "ClusterQueue inactive: FlavorNotFound"
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_a_queue_that_names_what_is_missing_is_inactive"
#   - "source: kueue pkg/cache/scheduler/clusterqueue.go"
#   severity: error
#   needs: cluster
#   fix: "Write the name of an existing ResourceFlavor, or add the ResourceFlavor."
#   example: |
#     kind: ClusterQueue
#     metadata: {name: vision}
#     spec:
#       resourceGroups:
#       - coveredResources: [nvidia.com/gpu]
#         flavors:
#         - {name: a100-nigth, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}  # the flavor is called a100-night
package rules.queue.flavor_exists

import data.lib

report contains lib.at(i, path, sprintf("ResourceFlavor %s does not exist (there is: %s): the ClusterQueue is inactive and admits nothing", [flavor.name, lib.names("kueue.x-k8s.io", "ResourceFlavor", "")])) if {
	some i, queue in lib.objects("kueue.x-k8s.io", "ClusterQueue")
	some g, group in queue.spec.resourceGroups
	some f, flavor in group.flavors
	not lib.exists("kueue.x-k8s.io", "ResourceFlavor", "", flavor.name)
	path := ["spec", "resourceGroups", g, "flavors", f, "name"]
}
