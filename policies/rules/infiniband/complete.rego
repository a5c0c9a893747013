# METADATA
# title: InfiniBand is complete or absent
# description: |
#   A pod that uses InfiniBand needs three things: the device resource, the secondary network
#   (annotation k8s.v1.cni.cncf.io/networks of the pod template) and IPC_LOCK in the container that gets the device.
#   Without the network the device has no interface in the pod, without IPC_LOCK memory cannot be registered
#   (ibv_reg_mr fails), without the device NCCL falls back to sockets and says so only in its log. The annotation does
#   nothing on the Job template or the JobSet.
# related_resources:
# - ref: https://github.com/NVIDIA/nccl-tests/issues/206
# - ref: https://github.com/k8snetworkplumbingwg/sriov-network-device-plugin/issues/271
# custom:
#   symptoms:
#   - "ibv_reg_mr failed: Cannot allocate memory"
#   - "NET/IB : No device found"
#   seen:
#   - "lab: tests/lab/test_training.py::test_infiniband_is_devices_and_locked_memory"
#   severity: error
#   fix: "Give the pod template all three: the device in limits, the annotation in template.metadata of the Job's spec, `securityContext: {capabilities: {add: [IPC_LOCK]}}` in the container; or remove all three."
#   example: |
#     template:  # the Job template
#       metadata: {annotations: {k8s.v1.cni.cncf.io/networks: hostdevice-net}}  # belongs to the pod template below
#       spec:
#         template:
#           spec:
#             containers:
#             - name: node
#               resources: {limits: {nvidia.com/hostdev: "1"}}
package rules.infiniband.complete

import data.lib
import data.lib.infiniband

# --- the device is there ----------------------------------------------------------------------------------------

report contains lib.in_workload(g.workload, found.path, sprintf("%s is asked for, and the annotation k8s.v1.cni.cncf.io/networks stands on %s instead of the pod template: the pod gets no interface for it", [device(g), found.place])) if {
	some g in without_network
	count(infiniband.devices(g)) > 0
	some found in infiniband.misplaced(g)
}

report contains object.union(
	lib.in_workload(g.workload, lib.template_path(g, ["metadata", "annotations", infiniband.annotation]), sprintf("%s is asked for without the annotation k8s.v1.cni.cncf.io/networks on the pod template: the pod gets no interface for it", [device(g)])),
	{"severity": certainty(device(g))},
) if {
	some g in without_network
	count(infiniband.devices(g)) > 0
	count(infiniband.misplaced(g)) == 0
}

report contains lib.in_workload(g.workload, infiniband.lock_path(g, d.container), sprintf("%s is asked for without the capability IPC_LOCK: the container cannot lock memory for it", [d.resource])) if {
	some g in lib.all_pods
	some d in infiniband.devices(g)
	not infiniband.locks(lib.containers(g)[d.container])
}

# --- the device is not there, something else is -----------------------------------------------------------------

report contains lib.in_workload(g.workload, path, sprintf("network %s is attached, and %s: the training has no device", [lib.fabric.attachment, infiniband.deviceless(g)])) if {
	some g in without_device
	infiniband.attached(infiniband.networks(g), g.workload.namespace)
	path := lib.template_path(g, ["metadata", "annotations", infiniband.annotation])
}

report contains lib.in_workload(g.workload, found.path, sprintf("network %s is asked for on %s, which reaches no pod, and %s", [lib.fabric.attachment, found.place, infiniband.deviceless(g)])) if {
	some g in without_device
	some found in infiniband.misplaced(g)
	infiniband.attached(infiniband.parsed(found.value), g.workload.namespace)
}

report contains object.union(
	lib.in_workload(g.workload, infiniband.lock_path(g, i), sprintf("IPC_LOCK is added without a network annotation, and %s: NCCL finds no InfiniBand", [infiniband.deviceless(g)])),
	{"severity": seriousness(g, i)},
) if {
	some g in without_device
	g.pod.tensorflow
	count(infiniband.networks(g)) == 0
	count(infiniband.misplaced(g)) == 0
	some i, container in lib.containers(g)
	infiniband.locks(container)
	object.get(container, ["securityContext", "privileged"], false) != true
}

# --- views ------------------------------------------------------------------------------------------------------

without_network := [g |
	some g in lib.all_pods
	count(infiniband.networks(g)) == 0
	not infiniband.host_network(g)
	network_needed
]

network_needed if not infiniband.has_fabric

network_needed if infiniband.attachment.name != ""

# A TrainJob can still give an unused runtime the device, by its resourcesPerNode.
without_device := [g |
	some g in lib.all_pods
	infiniband.has_fabric
	g.workload.kind in {"TrainJob", "JobSet"}
	count(infiniband.devices(g)) == 0
	not infiniband.host_network(g)
]

device(g) := infiniband.devices(g)[0].resource

# Shared devices (rdma/*) can do without a network of their own: certain only where the facts name one.
certainty(resource) := "warning" if {
	not infiniband.has_fabric
	startswith(resource, "rdma/")
}

certainty(_) := "error" if infiniband.has_fabric

certainty(resource) := "error" if {
	not infiniband.has_fabric
	not startswith(resource, "rdma/")
}

# Where NCCL is told to use no InfiniBand the capability is only too much.
seriousness(g, i) := "warning" if infiniband.disabled(g, i)

seriousness(g, i) := "error" if not infiniband.disabled(g, i)
