# METADATA
# title: A topology request reaches Kueue, and a flavor has the level that it names
# description: |
#   Kueue reads topology requests from the annotations of the pod template; anywhere above they mean nothing and the run is
#   placed anywhere (a warning). A request that no flavor of the queue can answer, because none has a topology or none has
#   that level, leaves the run pending for ever. Requests that contradict one another, that Kueue cannot
#   read, and slices larger than the run are refused by its webhook with the whole TrainJob; groups of other than a leader
#   and its workers with the JobSet.
# related_resources:
# - ref: https://kueue.sigs.k8s.io/docs/concepts/topology_aware_scheduling/
# - ref: https://github.com/kubernetes-sigs/kueue/blob/v0.17.0/pkg/scheduler/flavorassigner/tas_flavorassigner.go
# custom:
#   symptoms:
#   - "Flavor … does not support TopologyAwareScheduling"
#   - "Flavor … does not contain the requested level"
#   severity: error
#   needs: cluster
#   seen:
#   - "lab: tests/lab/test_topology.py::test_a_request_above_the_pod_template_asks_for_nothing"
#   - "lab: tests/lab/test_queues.py::test_topology_requests_that_are_refused"
#   - "lab: tests/lab/test_queues.py::test_groups_of_pod_templates_that_are_refused"
#   - "lab: tests/lab/test_topology.py::test_kueue_holds_a_gang_to_one_rack_by_its_annotation_only"
#   - "lab: tests/lab/test_queues.py::test_runs_that_are_never_admitted"
#   - "source: kueue pkg/scheduler/flavorassigner/tas_flavorassigner.go"
#   - "source: kueue pkg/controller/jobframework/tas_validation.go"
#   fix: "Write the annotation into the metadata of the pod template (replicatedJobs[].template.spec.template), with a nodeLabel of the levels of the Topology that the queue's flavor names in topologyName."
#   example: |
#     kind: Topology
#     metadata: {name: racks}
#     spec: {levels: [{nodeLabel: example.com/rack}, {nodeLabel: kubernetes.io/hostname}]}
#     ---
#     # pod template
#     metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: example.com/block}}
package rules.queue.topology_request

import data.lib
import data.lib.pools
import data.lib.queueing

# No flavor can answer it.
report contains lib.in_workload(w, annotation(g, what), message) if {
	some g in queued
	w := g.workload
	queue := queueing.cluster_queue(w)
	count(pools.flavors(w)) > 0
	what := [name | some name in ["required", "preferred", "slice", "unconstrained", "slices"]; queueing.topology_request(g)[name]][0]
	some group in queue.spec.resourceGroups
	some resource in group.coveredResources
	g.pod.requests[resource] > 0
	every flavor in group.flavors { count(lacks(g, flavor.name)) > 0 }
	message := sprintf("no flavor of ClusterQueue %s can answer the topology request (%s): the run is never admitted", [
		queue.metadata.name,
		concat("; ", [sprintf("%s: %s", [flavor.name, concat(", ", sort(lacks(g, flavor.name)))]) | some flavor in group.flavors]),
	])
}

# Kueue's webhook refuses it.
report contains lib.in_workload(g.workload, annotation(g, given[0]), sprintf("%s and %s are asked for at once: Kueue refuses the TrainJob", [queueing.topology_annotations[given[0]], queueing.topology_annotations[given[1]]])) if {
	some g in queued
	given := [name | some name in ["required", "preferred", "unconstrained"]; queueing.topology_request(g)[name]]
	count(given) > 1
}

report contains lib.in_workload(g.workload, annotation(g, "slice size"), sprintf("slices of %d pods, and there are %d: Kueue refuses the TrainJob", [size, g.pod.count])) if {
	some g in queued
	size := to_number(queueing.topology_request(g)["slice size"])
	size > g.pod.count
}

report contains lib.in_workload(g.workload, annotation(g, pair[0]), sprintf("%s without %s: Kueue refuses the TrainJob", [queueing.topology_annotations[pair[0]], queueing.topology_annotations[pair[1]]])) if {
	some g in queued
	some pair in [["slice", "slice size"], ["slice size", "slice"]]
	request := queueing.topology_request(g)
	request[pair[0]]
	not request[pair[1]]
}

report contains lib.in_workload(g.workload, annotation(g, what), sprintf("%s: Kueue refuses the TrainJob", [message])) if {
	some g in queued
	some [what, message] in union({malformed(g), unsuitable(g)})
}

report contains lib.in_workload(w, annotation({"workload": w, "pod": pod}, "group"), sprintf("%s: Kueue refuses the JobSet, and no pod is made", [message])) if {
	some w in queueing.placed
	some pod in w.pods
	name := request_of(w, pod).group
	some message in ungroupable(name, [other | some other in w.pods; request_of(w, other).group == name], w)
}

# What a request says that Kueue cannot read.
malformed(g) := {[what, sprintf("%s is %s, which is not %s", [queueing.topology_annotations[what], value, meant])] |
	some what, [meant, pattern] in {
		"slice size": ["a number above 0", `^[+]?0*[1-9][0-9]*$`],
		"unconstrained": ["true or false", `^([01tTfF]|true|True|TRUE|false|False|FALSE)$`],
	}
	value := queueing.topology_request(g)[what]
	not regex.match(pattern, value)
}

# What does not go with the rest of its request.
unsuitable(g) := ({[pair[0], sprintf("%s beside %s", [queueing.topology_annotations[pair[0]], queueing.topology_annotations[pair[1]]])] |
	some pair in [["group", "slice"], ["group", "slice size"], ["group", "slices"], ["slices", "slice"], ["slices", "slice size"]]
	request := queueing.topology_request(g)
	request[pair[0]]
	request[pair[1]]
} | {["group", sprintf("%s without %s or %s", [queueing.topology_annotations.group, queueing.topology_annotations.required, queueing.topology_annotations.preferred])] |
	request := queueing.topology_request(g)
	request.group
	count([what | some what in ["required", "preferred"]; request[what]]) == 0
}) | {["slices", sprintf("%s without Kueue's feature gate TASMultiLayerTopology", [queueing.topology_annotations.slices])] |
	queueing.topology_request(g).slices
	not input.cluster.featureGates.TASMultiLayerTopology
}

# Why pod templates of one group cannot be placed as one: Kueue knows a leader and its workers.
ungroupable(name, members, _) := {sprintf("group %s has %d pod templates and not 2", [name, count(members)])} if count(members) != 2

ungroupable(name, members, w) := {sprintf("neither pod template of group %s is for one pod", [name]) | every pod in members { pod.count != 1 }} | {sprintf("the two pod templates of group %s ask for different topologies", [name]) |
	some what in ["required", "preferred"]
	count({object.get(request_of(w, pod), what, "") | some pod in members}) > 1
} if {
	count(members) == 2
}

request_of(w, pod) := queueing.topology_request({"workload": w, "pod": pod})

# Where Kueue does not look.
report contains object.union(lib.at(w.object, ["metadata", "annotations", key], misplaced(w.kind, key)), {"severity": "warning"}) if {
	some w in queueing.placed
	w.kind == "TrainJob"
	some key in keys
	input.objects[w.object].metadata.annotations[key]
	not asked(w)
}

report contains object.union(lib.in_workload(w, ["metadata", "annotations", key], misplaced("JobSet", key)), {"severity": "warning"}) if {
	some w in queueing.placed
	some key in keys
	w.jobset.metadata.annotations[key]
	not asked(w)
}

report contains object.union(lib.in_workload(w, ["spec", "replicatedJobs", i, "template", "metadata", "annotations", key], misplaced("Job template", key)), {"severity": "warning"}) if {
	some w in queueing.placed
	some i, job in w.jobset.spec.replicatedJobs
	some key in keys
	job.template.metadata.annotations[key]
	not asked(w)
}

queued := [g | some w in queueing.placed; some pod in w.pods; g := {"workload": w, "pod": pod}]

keys := {key | some key in queueing.topology_annotations}

asked(w) if {
	some pod in w.pods
	queueing.asks_for_topology({"workload": w, "pod": pod})
}

misplaced(where, key) := sprintf("%s on the %s means nothing: Kueue reads it from the pod template alone and places the run anywhere", [key, where])

annotation(g, what) := lib.template_path(g, ["metadata", "annotations", queueing.topology_annotations[what]])

# Why a flavor cannot answer a request; of a Topology that is not in the input nothing is said.
lacks(g, name) := {"it has no topology"} if not topology_of(g, name)

lacks(g, name) := {sprintf("its topology %s has no level %s", [topology_of(g, name), level]) |
	some topology in lib.objects_named("kueue.x-k8s.io", "Topology", topology_of(g, name))
	some what in ["required", "preferred", "slice"]
	level := queueing.topology_request(g)[what]
	every given in topology.spec.levels { given.nodeLabel != level }
} if {
	topology_of(g, name)
}

topology_of(g, name) := [f.spec.topologyName | some f in pools.flavors(g.workload); f.metadata.name == name][0]
