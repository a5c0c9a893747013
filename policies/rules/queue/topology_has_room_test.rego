package rules_test.queue.topology_has_room

import data.lib
import data.rules.queue.topology_has_room.report
import data.rules_test.runs

required := "kueue.x-k8s.io/podset-required-topology"

slice := "kueue.x-k8s.io/podset-slice-required-topology"

asking(from, annotations) := json.patch(from, [runs.set(sprintf("%s/metadata/annotations", [runs.template]), annotations)])

found(key, message) := {lib.in_workload({"index": 0}, array.concat(runs.template_path, ["metadata", "annotations", key]), message)}

each := "of 80 cpu, 512Gi memory, 8 nvidia.com/gpu each"

# Two nodes of the four together, where three pods must stand.
racks := json.patch(runs.kueue, array.concat(runs.pods(3), [runs.set("/cluster/nodes/0/topology", {"rack": 2})]))

# The same told by the labels of pools.
labelled := json.patch(runs.kueue, array.concat(runs.pods(3), [runs.set("/cluster/nodes", [pool |
	some rack, count in {"north": 2, "south": 1}
	pool := object.union(runs.kueue.cluster.nodes[0], {"pool": rack, "count": count, "labels": {"rack": rack}})
])]))

test_fail_rack if {
	report == found(required, sprintf("3 pods must stand in one domain of rack, and none has a place for more than 2 %s (pool a100: nodes in a domain: 2): the run never starts", [each])) with input as asking(racks, {required: "rack"})
}

test_fail_labels if {
	report == found(required, sprintf("3 pods must stand in one domain of rack, and none has a place for more than 2 %s (pool north: nodes in a domain: 2; pool south: nodes in a domain: 1): the run never starts", [each])) with input as asking(labelled, {required: "rack"})
}

test_fail_one_node if {
	report == found(required, sprintf("2 pods must stand in one domain of kubernetes.io/hostname, and none has a place for more than 1 %s (pool a100: nodes in a domain: 1): the run never starts", [each])) with input as asking(runs.kueue, {required: "kubernetes.io/hostname"})
}

test_fail_slices if {
	annotations := {slice: "rack", "kueue.x-k8s.io/podset-slice-size": "3"}
	report == found(slice, sprintf("3 pods must stand in one domain of rack, and none has a place for more than 2 %s (pool a100: nodes in a domain: 2): the run never starts", [each])) with input as asking(racks, annotations)
}

test_fail_nodes_without_the_label if {
	document := json.patch(labelled, [runs.drop("/cluster/nodes/1/labels/rack"), runs.set("/cluster/nodes/1/labels/zone", "z")])
	count(report) == 1 with input as asking(document, {required: "rack"})
}

test_success_fits if {
	every document in [
		json.patch(racks, [runs.set("/cluster/nodes/0/topology/rack", 3)]),
		json.patch(racks, runs.pods(2)),
		json.patch(labelled, [runs.set("/cluster/nodes/1/labels/rack", "north")]),
	] {
		report == set() with input as asking(document, {required: "rack"})
	}
}

# Two pools of which each tells how many stand together: in one rack they may stand together as well.
test_success_pools_may_share if {
	document := json.patch(racks, [runs.set("/cluster/nodes/-", object.union(racks.cluster.nodes[0], {"pool": "more"}))])
	report == set() with input as asking(document, {required: "rack"})
}

test_success_slices if {
	report == set() with input as asking(racks, {slice: "rack", "kueue.x-k8s.io/podset-slice-size": "1"})
}

test_success_not_known if report == set() with input as asking(racks, {required: "block"})

test_success_preferred if report == set() with input as asking(racks, {"kueue.x-k8s.io/podset-preferred-topology": "rack"})

test_success_no_topologies if {
	report == set() with input as json.patch(asking(racks, {required: "rack"}), [runs.set("/cluster/featureGates", {"TopologyAwareScheduling": false})])
}
