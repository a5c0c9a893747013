# METADATA
# title: A run has room in one domain of the level that it requires
# description: |
#   With podset-required-topology all pods of a run stand in one domain of that level, say below one switch. Where no domain
#   has a place for so many, Kueue never admits the run, however many nodes are free. The same of the slices of
#   podset-slice-required-topology. Judged by empty nodes, where it is known how many stand together: one for
#   kubernetes.io/hostname, else by the pools' labels or their `topology` in cluster.yaml.
# related_resources:
# - ref: https://kueue.sigs.k8s.io/docs/concepts/topology_aware_scheduling/#user-facing-apis
# custom:
#   symptoms:
#   - "topology … allows to fit only … out of … pod(s)"
#   severity: error
#   needs: cluster
#   seen:
#   - "lab: tests/lab/test_topology.py::test_kueue_holds_a_gang_to_one_rack_by_its_annotation_only"
#   - "lab: tests/lab/test_topology.py::test_kueue_holds_slices_to_one_leaf"
#   - "source: kueue pkg/cache/scheduler/tas_flavor_snapshot.go"
#   fix: "Ask for fewer nodes, for a higher level, or write podset-preferred-topology, which takes several domains where one does not suffice."
#   example: |
#     # cluster.yaml: nodes: [{pool: h100, count: 16, topology: {example.com/rack: 4}, ...}]
#     kind: ClusterTrainingRuntime
#     metadata: {name: tf-resnet}
#     spec:
#       mlPolicy: {numNodes: 8}  # each takes a node of h100
#       # … in the pod template:
#       #   metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: example.com/rack}}
package rules.queue.topology_has_room

import data.lib
import data.lib.pools
import data.lib.queueing

report contains lib.in_workload(g.workload, path, message) if {
	some g in queued
	some asked in asks(g)
	there := pools.open(g)
	count(there) > 0
	every pool in there { known(pool, asked.level) }
	sum([pools.places(pool, g) | some pool in there]) >= g.pod.count # else see nodes/gang-fits
	most := room(there, g, asked.level)
	asked.pods > most
	path := lib.template_path(g, ["metadata", "annotations", asked.key])
	message := sprintf("%d pods must stand in one domain of %s, and none has a place for more than %d of %s each (%s): the run never starts", [
		asked.pods,
		asked.level,
		most,
		queueing.listed({r: n | some r, n in g.pod.requests; n > 0}),
		concat("; ", [sprintf("pool %s: nodes in a domain: %d", [pool.pool, size(pool, asked.level)]) | some pool in there]),
	])
}

queued := [{"workload": w, "pod": pod} |
	some w in queueing.placed
	count(pools.flavors(w)) > 0
	some pod in w.pods
]

# Pods that must share a domain: of a level, and by which annotation.
asks(g) := {asked |
	request := queueing.topology_request(g)
	some what, number in {"required": g.pod.count, "slice": object.get(request, "slice size", 0)}
	asked := {"key": queueing.topology_annotations[what], "level": request[what], "pods": to_number(number)}
}

# How many pods the largest domain of a level holds. Pools of one label are one domain; of others it is not known
# whether they share one, and they count as if they did.
room(there, g, level) := max([pools.per_node(pool, g) | some pool in there]) if level == hostname

room(there, g, level) := max(array.concat([0], labelled)) + sum([places(pool, g, level) | some pool in there; not pool.labels[level]]) if {
	level != hostname
	labelled := [together |
		some value in {pool.labels[level] | some pool in there}
		together := sum([places(pool, g, level) | some pool in there; pool.labels[level] == value])
	]
}

places(pool, g, level) := size(pool, level) * pools.per_node(pool, g)

hostname := "kubernetes.io/hostname"

known(_, level) if level == hostname

known(pool, level) if pools.known(pool, level)

known(pool, level) if pool.topology[level]

# How many nodes of a pool stand in one domain; none where they lack the level's label.
size(pool, level) := 1 if {
	level == hostname
	pool
} else := pools.largest(pool) if {
	pool.labels[level]
} else := min([pools.largest(pool), pool.topology[level]]) if {
	pool.topology[level]
} else := 0
