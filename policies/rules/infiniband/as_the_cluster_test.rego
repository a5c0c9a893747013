package rules_test.infiniband.as_the_cluster

import data.lib
import data.rules.infiniband.as_the_cluster
import data.rules_test.runs

annotation := "k8s.v1.cni.cncf.io/networks"

annotations := sprintf("%s/metadata/annotations", [runs.template])

resources := sprintf("%s/resources", [runs.node])

at_annotation := array.concat(runs.template_path, ["metadata", "annotations", annotation])

network(text) := json.patch(runs.infiniband, [runs.set(annotations, {annotation: text})])

limits(amounts) := runs.set(resources, {"limits": amounts})

at_limit(resource) := array.concat(runs.node_path, ["resources", "limits", resource])

elsewhere(kind, namespace) := runs.set("/cluster/external/-", {"kind": kind, "namespace": namespace, "name": "hostdevice-net"})

test_fail_other_resource if {
	as_the_cluster.report == {lib.in_workload({"index": 0}, at_limit("rdma/a"), "rdma/a is asked for, and the InfiniBand of cluster west is nvidia.com/hostdev: no node has it, no pod is scheduled")} with input as json.patch(runs.infiniband, [limits({"rdma/a": "1"})])
}

test_fail_no_fabric if {
	as_the_cluster.report == {lib.in_workload({"index": 0}, at_limit("rdma/a"), "rdma/a is asked for, and cluster west has no InfiniBand: no node has it, no pod is scheduled")} with input as json.patch(runs.kueue, [limits({"rdma/a": "1"})])
}

devices(message, severity) := {object.union(lib.in_workload({"index": 0}, at_limit("nvidia.com/hostdev"), message), {"severity": severity})}

test_fail_more_devices if {
	as_the_cluster.report == devices("2 nvidia.com/hostdev a pod, and cluster west has 1 for each", "error") with input as json.patch(runs.infiniband, [limits({"nvidia.com/hostdev": "2"})])
}

fewer := json.patch(runs.infiniband, [limits({"nvidia.com/hostdev": 1}), runs.set("/cluster/network/infiniband/perPod", 2)])

test_fail_fewer_devices if {
	as_the_cluster.report == devices("1 nvidia.com/hostdev a pod, and cluster west has 2 for each", "error") with input as fewer
}

test_fail_fewer_devices_for_part_of_a_node if {
	as_the_cluster.report == devices("1 nvidia.com/hostdev a pod, and cluster west has 2 for each", "warning") with input as json.patch(fewer, [runs.set("/workloads/0/pods/0/requests/nvidia.com~1gpu", 4)])
}

test_fail_other_network if {
	as_the_cluster.report == {lib.in_workload({"index": 0}, at_annotation, "network ipoib-net is asked for, and the attachment of cluster west is hostdevice-net: the device gets no interface")} with input as network("ipoib-net")
}

test_fail_network_of_another_namespace if {
	as_the_cluster.report == {lib.in_workload({"index": 0}, at_annotation, "NetworkAttachmentDefinition hostdevice-net does not exist in namespace survey but in other: the pods stay in ContainerCreating")} with input as json.patch(runs.infiniband, [elsewhere("NetworkAttachmentDefinition", "other")])
}

test_fail_network_object_of_another_namespace if {
	count(as_the_cluster.report) == 1 with input as json.patch(runs.infiniband, [runs.set("/objects/-", {
		"apiVersion": "k8s.cni.cncf.io/v1",
		"kind": "NetworkAttachmentDefinition",
		"metadata": {"name": "hostdevice-net", "namespace": "other"},
	})])
}

left_over := json.patch(runs.kueue, [
	runs.set(annotations, {annotation: "hostdevice-net"}),
	runs.set(sprintf("%s/securityContext/capabilities/add", [runs.node]), ["IPC_LOCK"]),
])

test_fail_left_over if {
	as_the_cluster.report == {lib.in_workload({"index": 0}, at_annotation, "network hostdevice-net and IPC_LOCK on cluster west, which has no InfiniBand")} with input as left_over
}

test_success_forms_of_the_annotation if {
	every text in [
		"hostdevice-net",
		"survey/hostdevice-net@ib0",
		"storage, hostdevice-net",
		"hostdevice-net,hostdevice-net",
		`[{"name": "storage"}, {"name": "hostdevice-net", "namespace": "survey"}]`,
	] {
		as_the_cluster.report == set() with input as json.patch(network(text), [elsewhere("NetworkAttachmentDefinition", "survey")])
	}
}

test_success_network_in_both_namespaces if {
	as_the_cluster.report == set() with input as json.patch(runs.infiniband, [elsewhere("NetworkAttachmentDefinition", "other"), elsewhere("NetworkAttachmentDefinition", "survey")])
	as_the_cluster.report == set() with input as json.patch(network("other/hostdevice-net"), [elsewhere("NetworkAttachmentDefinition", "other")])
}

without := json.patch(runs.infiniband, [runs.set("/workloads", runs.kueue.workloads)])

gpus(amount) := runs.set("/workloads/0/pods/0/requests/nvidia.com~1gpu", amount)

idle := {object.union(
	lib.in_workload({"index": 0}, at_limit("nvidia.com/hostdev"), "the GPUs of several nodes train together and ask for no nvidia.com/hostdev, which the nodes of cluster west have: NCCL uses sockets"),
	{"severity": "warning", "fix": "Use the variant with InfiniBand: the device, the network and IPC_LOCK, and NCCL_IB_DISABLE=0 without NCCL_NET=Socket."},
)}

test_fail_without_where_the_nodes_have_it if {
	as_the_cluster.report == idle with input as json.patch(without, [gpus(8)])
}

test_success_without if {
	as_the_cluster.report == set() with input as json.patch(runs.kueue, [gpus(8)])
}

# All pods find a place on one node, or on nodes without the device.
test_success_without_on_one_node if {
	as_the_cluster.report == set() with input as json.patch(without, [gpus(4)])
	as_the_cluster.report == set() with input as json.patch(without, [gpus(0)])
}

test_success_without_on_nodes_without if {
	as_the_cluster.report == set() with input as json.patch(without, [
		gpus(8),
		runs.set("/cluster/nodes/-", {"pool": "plain", "count": 4, "allocatable": {"cpu": "96", "memory": "900Gi", "nvidia.com/gpu": "8"}}),
	])
}

# A TrainJob can give it the device.
test_success_unused_runtime if {
	as_the_cluster.report == set() with input as json.patch(without, [gpus(8), runs.set("/workloads/0/kind", "ClusterTrainingRuntime")])
}

test_success_nodes_have_it if {
	as_the_cluster.report == set() with input as json.patch(runs.kueue, [limits({"rdma/a": "1"}), runs.set("/cluster/nodes/0/allocatable/rdma~1a", "8")])
}

test_success_other_network_without_infiniband if {
	as_the_cluster.report == set() with input as json.patch(left_over, [runs.set(annotations, {annotation: "storage-net"})])
}
