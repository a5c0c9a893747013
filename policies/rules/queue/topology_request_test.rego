package rules_test.queue.topology_request

import data.lib
import data.rules.queue.topology_request
import data.rules_test.runs

required := "kueue.x-k8s.io/podset-required-topology"

slice := "kueue.x-k8s.io/podset-slice-required-topology"

size := "kueue.x-k8s.io/podset-slice-size"

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
