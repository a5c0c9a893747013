# METADATA
# title: InfiniBand is asked for as the cluster has it
# description: |
#   Device resource, devices per pod and network differ from cluster to cluster; only the cluster's own names lead to a
#   device. Pods that ask for another resource, or for any on a cluster without InfiniBand, stay Pending; with a network that
#   does not exist in its namespace they stay in ContainerCreating, and with another one the device has no interface. GPUs of
#   several nodes that ask for no device where the nodes have one train over the slower network, and nothing says so.
# related_resources:
# - ref: https://github.com/k8snetworkplumbingwg/multus-cni/issues/1479
# - ref: https://github.com/NVIDIA/nccl/issues/676
#   description: without a device NCCL uses sockets
# custom:
#   symptoms:
#   - "Using network Socket on nodes with InfiniBand"
#   seen:
#   - "lab: tests/lab/test_admitted.py::test_pods_that_ask_for_another_clusters_device_stay_pending"
#   - "lab: tests/lab/test_training.py::test_more_devices_than_the_node_has_are_waited_for"
#   severity: error
#   needs: cluster
#   fix: "Write resource, number of devices and attachment as network.infiniband in cluster.yaml has them; on a cluster without InfiniBand use the variant without."
#   example: |
#     containers:
#     - name: node
#       resources: {limits: {rdma/hca_shared_devices_a: "1"}}  # the cluster has nvidia.com/hostdev
package rules.infiniband.as_the_cluster

import data.lib
import data.lib.infiniband
import data.lib.pools
import data.lib.queueing

report contains lib.in_workload(g.workload, queueing.request_path(g, d.resource), message) if {
	input.cluster.name
	some g in lib.all_pods
	some d in infiniband.asked(g)
	infiniband.common(d.resource)
	not has_nodes(d.resource)
	message := elsewhere(d.resource)
}

report contains object.union(
	lib.in_workload(g.workload, queueing.request_path(g, lib.fabric.resource), sprintf("%v %s a pod, and cluster %s has %v for each", [number, lib.fabric.resource, input.cluster.name, lib.fabric.perPod])),
	{"severity": certainty(g, number)},
) if {
	some g in lib.all_pods
	number := sum([d.amount | some d in infiniband.devices(g); infiniband.has_fabric])
	number > 0
	number != lib.fabric.perPod
}

report contains lib.in_workload(g.workload, path(g), sprintf("network %s is asked for, and the attachment of cluster %s is %s: the device gets no interface", [text(g), input.cluster.name, lib.fabric.attachment])) if {
	some g in on_fabric
	count(infiniband.networks(g)) > 0
	not infiniband.attached(infiniband.networks(g), g.workload.namespace)
}

report contains lib.in_workload(g.workload, path(g), sprintf("NetworkAttachmentDefinition %s does not exist in namespace %s but in %s: the pods stay in ContainerCreating", [n.name, namespace, lib.joined(known(n.name))])) if {
	some g in on_fabric
	some n in infiniband.networks(g)
	infiniband.attached([n], g.workload.namespace)
	namespace := [part | some part in [n.namespace, g.workload.namespace]; part != ""][0]
	count(known(n.name)) > 0
	not namespace in known(n.name)
}

# Clearly InfiniBand without a device: a network that is called so, and locked memory.
report contains lib.in_workload(g.workload, path(g), sprintf("network %s and IPC_LOCK on cluster %s, which has no InfiniBand", [text(g), input.cluster.name])) if {
	input.cluster.name
	not infiniband.has_fabric
	some g in lib.tensorflow_pods
	count(infiniband.asked(g)) > 0
	count(infiniband.devices(g)) == 0
	some n in infiniband.networks(g)
	regex.match(`(^|[-_.])(ib|ipoib|rdma|roce|infiniband|hostdev|hostdevice)([-_.]|\d|$)`, n.name)
	some container in lib.containers(g)
	infiniband.locks(container)
}

report contains object.union(
	lib.in_workload(g.workload, lib.container_path(g, i, ["resources", "limits", lib.fabric.resource]), sprintf("the GPUs of several nodes train together and ask for no %s, which the nodes of cluster %s have: NCCL uses sockets", [lib.fabric.resource, input.cluster.name])),
	{"severity": "warning", "fix": "Use the variant with InfiniBand: the device, the network and IPC_LOCK, and NCCL_IB_DISABLE=0 without NCCL_NET=Socket."},
) if {
	some g in idle
	i := lib.trainer_container(g)
	not infiniband.disabled(g, i) == false # infiniband/not-disabled says that
}

# Gangs of more GPUs than a node has, of which nothing asks for InfiniBand where every node that may take them has it. What asks
# for a part of it is the business of infiniband/complete. A TrainJob can still give an unused runtime the device.
idle := [g |
	some g in lib.gangs
	infiniband.has_fabric
	g.workload.kind in {"TrainJob", "JobSet"}
	nothing_asked(g)
	gpus := sum([amount |
		some p in g.workload.pods
		p.tensorflow
		amount := p.count * object.get(p.requests, "nvidia.com/gpu", 0)
	])
	count(pools.holding(g)) > 0
	every pool in pools.holding(g) {
		lib.quantity(pool.allocatable[lib.fabric.resource]) > 0
		gpus > lib.quantity(pool.allocatable["nvidia.com/gpu"])
	}
]

nothing_asked(g) if {
	every name, _ in g.pod.requests { not infiniband.device(name); not infiniband.common(name)}
	count(infiniband.networks(g)) == 0
	count(infiniband.misplaced(g)) == 0
	not infiniband.host_network(g)
	every c in lib.pod_containers(g) { not infiniband.locks(c.container) }
}

on_fabric := [g |
	some g in lib.all_pods
	infiniband.has_fabric
	count(infiniband.devices(g)) > 0
	not infiniband.host_network(g)
]

has_nodes(resource) if resource == lib.fabric.resource

has_nodes(resource) if {
	some pool in input.cluster.nodes
	pool.allocatable[resource]
}

elsewhere(resource) := sprintf("%s is asked for, and the InfiniBand of cluster %s is %s: no node has it, no pod is scheduled", [resource, input.cluster.name, lib.fabric.resource]) if infiniband.has_fabric

elsewhere(resource) := sprintf("%s is asked for, and cluster %s has no InfiniBand: no node has it, no pod is scheduled", [resource, input.cluster.name]) if not infiniband.has_fabric

# A pod that takes only part of a node's GPUs may well do with fewer devices.
certainty(g, number) := "warning" if part(g, number)

certainty(g, number) := "error" if not part(g, number)

part(g, number) if {
	number < lib.fabric.perPod
	object.get(g.pod.requests, "nvidia.com/gpu", 0) < max([lib.quantity(object.get(pool.allocatable, "nvidia.com/gpu", 0)) | some pool in input.cluster.nodes])
}

# The namespaces that have a NetworkAttachmentDefinition of that name.
known(name) := {object.get(o.metadata, "namespace", "") |
	some o in lib.objects_named("k8s.cni.cncf.io", "NetworkAttachmentDefinition", name)
} | {e.namespace | some e in input.cluster.external; e.kind == "NetworkAttachmentDefinition"; e.name == name}

text(g) := lib.template(g).metadata.annotations[infiniband.annotation]

path(g) := lib.template_path(g, ["metadata", "annotations", infiniband.annotation])
