# METADATA
# title: The nodes have a place for every pod of a run
# description: |
#   A gang starts when all its pods have a node at the same time; pods that no node can hold stay Pending while the
#   others (without a gang scheduler) already hold their GPUs. Judged by what the pools that the pods may land on can hold
#   when they are empty and, where they grow by themselves, as large as they may be, so what is refused here never fits; one pod a node
#   where a required podAntiAffinity keeps the run's own pods apart. Resources of a pool that its facts do not list are
#   unknown, extended ones are not there.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#troubleshooting
# custom:
#   symptoms:
#   - "FailedScheduling: Insufficient nvidia.com/gpu, for ever"
#   seen:
#   - "lab: tests/lab/test_training.py::test_more_devices_than_the_node_has_are_waited_for"
#   - "lab: tests/lab/test_why.py::test_the_faults_are_named"
#   - "lab: tests/lab/test_admitted.py::test_pods_that_keep_one_another_away_have_a_node_each"
#   - "source: kubernetes pkg/scheduler/framework/plugins/noderesources/fit.go"
#   - "source: kubernetes pkg/scheduler/framework/plugins/interpodaffinity/filtering.go"
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
import data.lib.pools
import data.lib.queueing

report contains lib.in_workload(w, queueing.parallelism_path(pod), message) if {
	count(input.cluster.nodes) > 0
	some w in queueing.here
	some pod in w.pods
	g := {"workload": w, "pod": pod}
	there := pools.open(g)
	count(there) > 0
	places := sum([pools.places(pool, g) | some pool in there])
	places < pod.count
	message := sprintf("%d pods of %s each, and the nodes of cluster %s have a place for %d (%s%s): not all pods can run at a time", [
		pod.count,
		queueing.listed({r: n | some r, n in pod.requests; n > 0}),
		input.cluster.name,
		places,
		concat("; ", [described(pool, pod) | some pool in there]),
		apart(g),
	])
}

# Several replicatedJobs that run at a time need their sum of what only some nodes have.
report contains lib.in_workload(w, queueing.parallelism_path(queueing.largest(w, resource)), message) if {
	count(input.cluster.nodes) > 0
	some w in queueing.here
	count([pod | some pod in w.pods; pod.count > 0]) > 1
	not queueing.in_order(w)
	every pod in w.pods { fits({"workload": w, "pod": pod}) }
	some resource, needed in w.demand
	lib.extended(resource)
	there := sum([pools.all_of(pool, resource) | some pool in input.cluster.nodes])
	queueing.exceeds(needed, there)
	message := sprintf("all pods together need %s, and the nodes of cluster %s have %s: not all pods can run at a time", [queueing.listed({resource: needed}), input.cluster.name, queueing.amount(resource, there)])
}

fits(g) if sum([pools.places(pool, g) | some pool in pools.open(g)]) >= g.pod.count

apart(g) := "; its podAntiAffinity leaves each of them a node alone" if pools.alone(g)

apart(g) := "" if not pools.alone(g)

described(pool, pod) := sprintf("pool %s: %d nodes of %s", [pool.pool, pools.largest(pool), queueing.listed({r: pools.allocatable(pool, r) |
	some r, n in pod.requests
	n > 0
	pools.judged(pool, r)
})])
