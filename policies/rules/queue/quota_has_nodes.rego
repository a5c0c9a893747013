# METADATA
# title: The nodes hold what Kueue gives out
# description: |
#   Kueue counts quotas and looks at no node. Where the quotas of a flavor are more than its nodes have, runs are admitted
#   together that do not fit together: each gets some of its nodes, holds the GPUs, and waits for those that another one
#   holds. Judged for extended resources, by all ClusterQueues and Cohorts; not for flavors with a topology, whose nodes
#   Kueue does count, nor where its configuration says waitForPodsReady, which breaks such a tie.
# related_resources:
# - ref: https://kueue.sigs.k8s.io/docs/tasks/manage/setup_wait_for_pods_ready/
#   description: all-or-nothing with ready pods
# custom:
#   symptoms:
#   - "two admitted runs each hold some GPUs and wait for the rest"
#   severity: warning
#   needs: cluster
#   seen:
#   - "lab: tests/lab/test_nodes.py::test_runs_that_are_admitted_above_the_nodes_hold_devices_and_wait_for_each_other"
#   - "source: kueue pkg/cache/scheduler/clusterqueue.go"
#   - "source: kueue pkg/scheduler/flavorassigner/flavorassigner.go"
#   fix: "Let the nominalQuotas of a flavor together be no more than its nodes have, or give the flavor a topology."
#   example: |
#     # cluster.yaml: nodes: [{pool: h100, count: 4, allocatable: {nvidia.com/gpu: "8", ...}}]
#     kind: ClusterQueue
#     metadata: {name: vision}
#     spec:
#       resourceGroups:
#       - coveredResources: [nvidia.com/gpu]
#         flavors: [{name: h100, resources: [{name: nvidia.com/gpu, nominalQuota: 40}]}]
package rules.queue.quota_has_nodes

import data.lib
import data.lib.pools
import data.lib.queueing

report contains lib.at(q.object, array.concat(q.path, ["nominalQuota"]), message) if {
	count(input.cluster.nodes) > 0
	not waits_for_pods
	some q in quotas
	counted(q)
	together := sum([lib.quantity(each.nominal) | some each in quotas; each.flavor == q.flavor; each.resource == q.resource])
	there := sum([pools.all_of(pool, q.resource) | some pool in pools_of(q.flavor)])
	there > 0 # else other rules speak: of the flavor's labels, of InfiniBand
	queueing.exceeds(together, there)
	message := sprintf("flavor %s gives out %s in all, and its nodes in cluster %s have %s: runs that are admitted together may each get some of their nodes only", [
		q.flavor,
		queueing.listed({q.resource: together}),
		input.cluster.name,
		queueing.amount(q.resource, there),
	])
}

quotas := [{"object": i, "flavor": flavor.name, "resource": given.name, "nominal": given.nominalQuota, "path": ["spec", "resourceGroups", g, "flavors", f, "resources", n]} |
	some kind in ["ClusterQueue", "Cohort"]
	some i, holder in lib.objects("kueue.x-k8s.io", kind)
	some g, group in holder.spec.resourceGroups
	some f, flavor in group.flavors
	some n, given in flavor.resources
]

# Of a queue for runs of other clusters, and of a flavor that is not in the input, nothing is known.
counted(q) if {
	lib.extended(q.resource)
	lib.quantity(q.nominal) > 0
	some flavor in lib.objects_named("kueue.x-k8s.io", "ResourceFlavor", q.flavor)
	not flavor.spec.topologyName
	not elsewhere(input.objects[q.object])
}

elsewhere(queue) if {
	some name in queueing.checks(queue)
	every check in lib.objects("kueue.x-k8s.io", "AdmissionCheck") { not plain(check, name) }
}

plain(check, name) if {
	check.metadata.name == name
	check.spec.controllerName != "kueue.x-k8s.io/multikueue"
}

pools_of(name) := [pool |
	some flavor in lib.objects_named("kueue.x-k8s.io", "ResourceFlavor", name)
	some pool in input.cluster.nodes
	not pools.mislabelled(pool, object.get(flavor, ["spec", "nodeLabels"], {}))
]

waits_for_pods if {
	some c in queueing.configurations
	c.content.waitForPodsReady
	not c.content.waitForPodsReady.enable == false
}
