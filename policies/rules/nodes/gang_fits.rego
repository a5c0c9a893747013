# METADATA
# title: The nodes have a place for every pod of a run
# description: |
#   A gang starts when all its pods have a node at the same time; pods that no node can hold stay Pending while the
#   others (without a gang scheduler) already hold their GPUs. Judged by what the cluster's pools can hold when they
#   are empty, so what is refused here never fits. Resources of a pool that its facts do not list are unknown, extended
#   ones are not there.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#troubleshooting
# custom:
#   symptoms:
#   - "FailedScheduling: Insufficient nvidia.com/gpu, for ever"
#   severity: error
#   needs: cluster
#   fix: "Ask for fewer nodes (trainer.numNodes) or for less on each (trainer.resourcesPerNode), as the pools in cluster.yaml have it."
#   example: |
#     kind: TrainJob
#     metadata: {name: resnet}
#     spec:
#       runtimeRef: {name: tf-resnet}
#       trainer:
#         numNodes: 8  # the cluster has 6 nodes of 8 GPUs
#         resourcesPerNode: {limits: {nvidia.com/gpu: "8"}}
package rules.nodes.gang_fits

import data.lib
import data.lib.infiniband
import data.lib.queueing

report contains lib.in_workload(w, queueing.parallelism_path(pod), message) if {
	count(input.cluster.nodes) > 0
	some w in here
	some pod in w.pods
	places := sum([places_in(pool, pod) | some pool in input.cluster.nodes])
	places < pod.count
	message := sprintf("%d pods of %s each, and the nodes of cluster %s have a place for %d (%s): not all pods can run at a time", [
		pod.count,
		queueing.listed({r: n | some r, n in pod.requests; n > 0}),
		input.cluster.name,
		places,
		concat("; ", [described(pool, pod) | some pool in input.cluster.nodes]),
	])
}

# Several replicatedJobs that run at a time need their sum of what only some nodes have.
report contains lib.in_workload(w, queueing.parallelism_path(queueing.largest(w, resource)), message) if {
	count(input.cluster.nodes) > 0
	some w in here
	count([pod | some pod in w.pods; pod.count > 0]) > 1
	not in_order(w)
	every pod in w.pods { sum([places_in(pool, pod) | some pool in input.cluster.nodes]) >= pod.count }
	some resource, needed in w.demand
	lib.extended(resource)
	there := sum([all_of(pool, resource) | some pool in input.cluster.nodes])
	queueing.exceeds(needed, there)
	message := sprintf("all pods together need %s, and the nodes of cluster %s have %s: not all pods can run at a time", [queueing.listed({resource: needed}), input.cluster.name, queueing.amount(resource, there)])
}

in_order(w) if {
	some job in w.jobset.spec.replicatedJobs
	count(job.dependsOn) > 0
}

in_order(w) if w.jobset.spec.startupPolicy.startupPolicyOrder == "InOrder"

# MultiKueue sends a run to the nodes of another cluster.
here := [w |
	some w in queueing.sized
	object.get(input.objects[w.object].spec, "managedBy", "") != "kueue.x-k8s.io/multikueue"
]

# How many pods of a kind an empty pool holds.
places_in(pool, pod) := nodes(pool) * min(array.concat([1000000], [floor((allocatable(pool, r) + 0.0001) / n) |
	some r, n in object.union(pod.requests, {"pods": 1})
	n > 0
	judged(pool, r)
]))

# What infiniband/as-the-cluster refuses by its name.
another_fabric(resource) if {
	infiniband.common(resource)
	resource != object.get(input.cluster.network, ["infiniband", "resource"], "")
	every pool in input.cluster.nodes { not pool.allocatable[resource] }
}

# A pool that grows by itself counts with its largest size.
nodes(pool) := max([pool.count, object.get(pool, "maxCount", 0)])

all_of(pool, resource) := nodes(pool) * allocatable(pool, resource)

judged(_, resource) if {
	lib.extended(resource)
	not another_fabric(resource)
}

judged(pool, resource) if pool.allocatable[resource]

allocatable(pool, resource) := lib.quantity(object.get(pool.allocatable, resource, 0))

described(pool, pod) := sprintf("pool %s: %d nodes of %s", [pool.pool, nodes(pool), queueing.listed({r: allocatable(pool, r) |
	some r, n in pod.requests
	n > 0
	judged(pool, r)
})])
