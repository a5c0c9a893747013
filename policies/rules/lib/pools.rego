# METADATA
# title: Which pools a pod may land on, and how many of its kind they hold
# description: |
#   A pool is left out only where its facts (labels, architecture, taints) certainly keep the pod away: what they do not
#   tell may fit. For a run that Kueue queues the labels and tolerations of each flavor of its ClusterQueue are tried.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/
package lib.pools

import data.lib
import data.lib.infiniband
import data.lib.queueing

# The pools whose nodes a pod template may land on.
open(g) := [pool |
	some pool in input.cluster.nodes
	some way in ways(g)
	count(_obstacles(pool, g, way)) == 0
]

# Those of them that have a place for one pod at least.
holding(g) := [pool | some pool in open(g); per_node(pool, g) > 0]

# Why a pool takes no pod of a template; empty where it may.
obstacles(pool, g) := set() if {
	some way in ways(g)
	count(_obstacles(pool, g, way)) == 0
}

obstacles(pool, g) := union({_obstacles(pool, g, way) | some way in ways(g)}) if {
	every way in ways(g) { count(_obstacles(pool, g, way)) > 0 }
}

_obstacles(pool, g, way) := _selected_out(pool, g, way) | _tainted_out(pool, g, way)

# What Kueue may add to the pods on admission, one for each flavor; nothing where it does not queue the run.
ways(g) := {{"nodeLabels": object.get(flavor.spec, "nodeLabels", {}), "tolerations": object.get(flavor.spec, "tolerations", [])} |
	some flavor in flavors(g.workload)
} if {
	count(flavors(g.workload)) > 0
}

ways(g) := {{"nodeLabels": {}, "tolerations": []}} if count(flavors(g.workload)) == 0

# The flavors of a run's ClusterQueue, where all are in the input.
flavors(workload) := found if {
	queueing.is_run(workload)
	names := {flavor.name | some group in queueing.cluster_queue(workload).spec.resourceGroups; some flavor in group.flavors}
	found := [object.union({"spec": {}}, flavor) | some flavor in lib.objects("kueue.x-k8s.io", "ResourceFlavor"); flavor.metadata.name in names]
	count(found) == count(names)
} else := []

# Where a pod template says which nodes it wants.
place(g) := ["nodeSelector"] if lib.pod_spec(g).nodeSelector

place(g) := ["affinity", "nodeAffinity"] if {
	not lib.pod_spec(g).nodeSelector
	lib.pod_spec(g).affinity.nodeAffinity
}

place(g) := ["tolerations"] if {
	not lib.pod_spec(g).nodeSelector
	not lib.pod_spec(g).affinity.nodeAffinity
}

# --- labels -----------------------------------------------------------------------------------------------------

labels(pool) := object.union(object.get(pool, "labels", {}), {"kubernetes.io/arch": pool.architecture}) if pool.architecture

labels(pool) := object.get(pool, "labels", {}) if not pool.architecture

# A key is known of a pool that gives it, and of one that gives labels without it where another pool has it.
known(pool, key) if labels(pool)[key]

known(pool, key) if {
	pool.labels
	some other in input.cluster.nodes
	other.labels[key]
}

_selected_out(pool, g, way) := union({
	{mismatch(pool, key, value) |
		some key, value in object.union(object.get(lib.pod_spec(g), "nodeSelector", {}), way.nodeLabels)
		known(pool, key)
		object.get(labels(pool), key, null) != value
	},
	{"its node affinity matches none of the required terms" |
		terms := lib.pod_spec(g).affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms
		every term in terms { _fails(pool, term) }
	},
})

mismatch(pool, key, value) := sprintf("%s is %s there, and %s is asked for", [key, labels(pool)[key], value])

mismatch(pool, key, value) := sprintf("its nodes have no label %s, and %s is asked for", [key, value]) if not labels(pool)[key]

_fails(pool, term) if {
	some e in term.matchExpressions
	known(pool, e.key)
	lib.unmet(e, object.get(labels(pool), e.key, null))
}

# Whether labels surely select no pool at all.
nowhere(selected) if {
	count(input.cluster.nodes) > 0
	every pool in input.cluster.nodes { mislabelled(pool, selected) }
}

# Whether labels surely do not select a pool.
mislabelled(pool, selected) if {
	some key, value in selected
	known(pool, key)
	object.get(labels(pool), key, null) != value
}

# --- taints -----------------------------------------------------------------------------------------------------

# A taint named after a resource that the pod asks for is tolerated where the API server adds that toleration
# (ExtendedResourceToleration), which the facts do not tell.
_tainted_out(pool, g, way) := {sprintf("its taint %s is not tolerated", [taint_text(taint)]) |
	some taint in pool.taints
	taint.effect in {"NoSchedule", "NoExecute"}
	not g.pod.requests[taint.key]
	not tolerated(g, way.tolerations, taint)
}

taint_text(taint) := sprintf("%s=%s:%s", [taint.key, taint.value, taint.effect])

taint_text(taint) := sprintf("%s:%s", [taint.key, taint.effect]) if not taint.value

# Whether the pods of a template tolerate a taint, with what a flavor adds to their own tolerations.
tolerated(g, added, taint) if {
	some toleration in array.concat(object.get(lib.pod_spec(g), "tolerations", []), added)
	tolerates(toleration, taint)
}

tolerates(toleration, taint) if {
	object.get(toleration, "effect", "") in {"", taint.effect}
	_same_key(toleration, taint)
}

_same_key(toleration, _) if {
	object.get(toleration, "key", "") == ""
	toleration.operator == "Exists"
}

_same_key(toleration, taint) if {
	toleration.key == taint.key
	toleration.operator == "Exists"
}

_same_key(toleration, taint) if {
	toleration.key == taint.key
	object.get(toleration, "operator", "Equal") in {"Equal", ""}
	object.get(toleration, "value", "") == object.get(taint, "value", "")
}

# --- sizes ------------------------------------------------------------------------------------------------------

# A pool that grows by itself has its largest size in the end.
largest(pool) := max([pool.count, object.get(pool, "maxCount", 0)])

# How many pods of a template one empty node of a pool holds.
per_node(pool, g) := min(array.concat([most_on_a_node(g)], [floor((allocatable(pool, r) + 0.0001) / n) |
	some r, n in object.union(g.pod.requests, {"pods": 1})
	n > 0
	judged(pool, r)
]))

most_on_a_node(g) := 1 if alone(g)

most_on_a_node(g) := 1000000 if not alone(g)

# Whether the pods of a template keep one another away from their nodes, by labels that all of them certainly have.
alone(g) if {
	some term in lib.pod_spec(g).affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution
	term.topologyKey == "kubernetes.io/hostname"
	_own_namespace(g, term)
	count(object.get(term, "mismatchLabelKeys", [])) == 0
	own := _own_labels(g)
	every key in object.get(term, "matchLabelKeys", []) { own[key] }
	every key, value in object.get(term.labelSelector, "matchLabels", {}) { own[key] == value }
	every e in object.get(term.labelSelector, "matchExpressions", []) {
		own[e.key]
		not lib.unmet(e, own[e.key])
	}
}

_own_namespace(_, term) if {
	count(object.get(term, "namespaces", [])) == 0
	not term.namespaceSelector
}

_own_namespace(g, term) if g.workload.namespace in term.namespaces

_own_namespace(_, term) if term.namespaceSelector == {}

# Those of the template, and of what JobSet adds what is the same for all pods of a template.
_own_labels(g) := object.union(object.get(lib.template(g), ["metadata", "labels"], {}), {
	"jobset.sigs.k8s.io/jobset-name": g.workload.name,
	"jobset.sigs.k8s.io/replicatedjob-name": lib.replicated_job(g).name,
})

# Resources that a pool's facts do not list are unknown, extended ones are not there.
judged(_, resource) if {
	lib.extended(resource)
	not another_fabric(resource)
}

judged(pool, resource) if pool.allocatable[resource]

# What infiniband/as-the-cluster refuses by its name.
another_fabric(resource) if {
	infiniband.common(resource)
	resource != object.get(input.cluster.network, ["infiniband", "resource"], "")
	every pool in input.cluster.nodes { not pool.allocatable[resource] }
}

# How many a pool holds.
places(pool, g) := largest(pool) * per_node(pool, g)

allocatable(pool, resource) := lib.quantity(object.get(pool.allocatable, resource, 0))

# What all nodes of a pool have of a resource.
all_of(pool, resource) := largest(pool) * allocatable(pool, resource)
