package rules_test.queue.topology_request

import data.lib
import data.rules.queue.topology_request
import data.rules_test.runs

required := "kueue.x-k8s.io/podset-required-topology"

slice := "kueue.x-k8s.io/podset-slice-required-topology"

size := "kueue.x-k8s.io/podset-slice-size"

unconstrained := "kueue.x-k8s.io/podset-unconstrained-topology"

slices := "kueue.x-k8s.io/podset-slice-required-topology-constraints"

group := "kueue.x-k8s.io/podset-group-name"

at_pods(key) := array.concat(runs.template_path, ["metadata", "annotations", key])

racks := json.patch(runs.kueue, [
	runs.set("/objects/4/spec", {"topologyName": "racks", "nodeLabels": {"pool": "a100"}}),
	runs.set("/objects/-", {
		"apiVersion": "kueue.x-k8s.io/v1beta2",
		"kind": "Topology",
		"metadata": {"name": "racks"},
		"spec": {"levels": [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]},
	}),
])

asking(from, annotations) := json.patch(from, [runs.set(sprintf("%s/metadata/annotations", [runs.template]), annotations)])

found(key, message) := {lib.in_workload({"index": 0}, at_pods(key), message)}

test_fail_level if {
	topology_request.report == found(required, "no flavor of ClusterQueue survey can answer the topology request (a100: its topology racks has no level block): the run is never admitted") with input as asking(racks, {required: "block"})
}

test_fail_no_topology if {
	topology_request.report == found(required, "no flavor of ClusterQueue survey can answer the topology request (a100: it has no topology): the run is never admitted") with input as asking(runs.kueue, {required: "rack"})
}

test_fail_slice_level if {
	count(topology_request.report) == 1 with input as asking(racks, {slice: "block", size: "2"})
}

test_fail_two_requests if {
	topology_request.report == found(required, "kueue.x-k8s.io/podset-required-topology and kueue.x-k8s.io/podset-preferred-topology are asked for at once: Kueue refuses the TrainJob") with input as asking(racks, {required: "rack", "kueue.x-k8s.io/podset-preferred-topology": "rack"})
}

test_fail_slices if {
	topology_request.report == found(size, "slices of 3 pods, and there are 2: Kueue refuses the TrainJob") with input as asking(racks, {slice: "rack", size: "3"})
	topology_request.report == found(slice, sprintf("%s without %s: Kueue refuses the TrainJob", [slice, size])) with input as asking(racks, {slice: "rack"})
}

test_fail_place if {
	every pointer, path in {
		"/workloads/0/jobset/metadata/annotations": ["metadata", "annotations", required],
		sprintf("%s/metadata/annotations", [runs.job]): ["spec", "replicatedJobs", 0, "template", "metadata", "annotations", required],
	} {
		[[f.path, f.severity] | some f in topology_request.report] == [[path, "warning"]] with input as json.patch(racks, [runs.set(pointer, {required: "rack"})])
	}
	topology_request.report == {object.union(lib.at(0, ["metadata", "annotations", required], "kueue.x-k8s.io/podset-required-topology on the TrainJob means nothing: Kueue reads it from the pod template alone and places the run anywhere"), {"severity": "warning"})} with input as json.patch(racks, [runs.set("/objects/0/metadata/annotations", {required: "rack"})])
}

refuses(annotations, key, message) if {
	topology_request.report == found(key, sprintf("%s: Kueue refuses the TrainJob", [message])) with input as asking(racks, annotations)
}

test_fail_unreadable if {
	every value in ["two", "0", "-1", "1.5", ""] {
		refuses({slice: "rack", size: value}, size, sprintf("%s is %s, which is not a number above 0", [size, value]))
	}
	refuses({unconstrained: "yes"}, unconstrained, sprintf("%s is yes, which is not true or false", [unconstrained]))
}

test_fail_layers if {
	layers := "[{\"topology\": \"rack\", \"size\": 1}]"
	refuses({slices: layers}, slices, sprintf("%s without Kueue's feature gate TASMultiLayerTopology", [slices]))
	enabled := json.patch(racks, [runs.set("/cluster/featureGates", {"TASMultiLayerTopology": true})])
	topology_request.report == set() with input as asking(enabled, {slices: layers})
	messages := {sprintf("%s beside %s: Kueue refuses the TrainJob", [slices, other]) | some other in [slice, size]}
	{f.message | some f in topology_request.report} == messages with input as asking(enabled, {slices: layers, slice: "rack", size: "1"})
}

test_fail_group_of_slices if {
	document := grouped({group: "all", required: "rack", slice: "rack", size: "1"}, {group: "all", required: "rack"}, 1)
	{f.message | some f in topology_request.report} == {sprintf("%s beside %s: Kueue refuses the TrainJob", [group, other]) | some other in [slice, size]} with input as document
}

test_fail_group if {
	leader := {group: "all", required: "rack"}
	some [document, message] in [
		[grouped(leader, {required: "rack"}, 1), "group all has 1 pod templates and not 2"],
		[grouped(leader, leader, 2), "neither pod template of group all is for one pod"],
		[grouped(leader, {group: "all", "kueue.x-k8s.io/podset-preferred-topology": "rack"}, 1), "the two pod templates of group all ask for different topologies"],
	]
	{f.message | some f in topology_request.report} == {sprintf("%s: Kueue refuses the JobSet, and no pod is made", [message])} with input as document
}

test_success_group if topology_request.report == set() with input as grouped({group: "all", required: "rack"}, {group: "all", required: "rack"}, 1)

# A leader of so many pods before the workers, and what both ask for.
grouped(leader, workers, count) := json.patch(asking(racks, workers), [
	runs.set("/workloads/0/jobset/spec/replicatedJobs/1", json.patch(runs.kueue.workloads[0].jobset.spec.replicatedJobs[0], [
		runs.set("/name", "leader"),
		runs.set("/template/spec/template/metadata/annotations", leader),
	])),
	runs.set("/workloads/0/pods/1", object.union(runs.kueue.workloads[0].pods[0], {"replicatedJob": 1, "name": "leader", "count": count})),
])

test_success_level if topology_request.report == set() with input as asking(racks, {required: "rack"})

test_success_slices if topology_request.report == set() with input as asking(racks, {slice: "rack", size: "2"})

test_success_not_asked if topology_request.report == set() with input as racks

test_success_topology_not_known if {
	topology_request.report == set() with input as asking(json.patch(racks, [runs.drop("/objects/6")]), {required: "block"})
}

test_success_volcano if topology_request.report == set() with input as asking(runs.volcano, {required: "block"})

test_success_feature_off if {
	topology_request.report == set() with input as json.patch(asking(racks, {required: "block"}), [runs.set("/cluster/featureGates", {"TopologyAwareScheduling": false})])
}
