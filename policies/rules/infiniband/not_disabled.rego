# METADATA
# title: NCCL's InfiniBand switch says what the pod has
# description: |
#   With a device in the pod, NCCL_IB_DISABLE=1 or NCCL_NET=Socket leaves it idle: the training is far slower and holds
#   the device all the same. NCCL_IB_DISABLE=0 in a pod that has no device promises InfiniBand, and NCCL uses sockets;
#   its log has one line about it.
# related_resources:
# - ref: https://github.com/NVIDIA/nccl/issues/676
# - ref: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-ib-disable
# custom:
#   symptoms:
#   - "Using network Socket on nodes with InfiniBand"
#   severity: error
#   fix: "Write NCCL_IB_DISABLE=0 (and no NCCL_NET=Socket) where the pod has the device, NCCL_IB_DISABLE=1 where it has none."
#   example: |
#     containers:
#     - name: node
#       env: [{name: NCCL_IB_DISABLE, value: "1"}]
#       resources: {limits: {nvidia.com/gpu: "8", nvidia.com/hostdev: "1"}}
package rules.infiniband.not_disabled

import data.lib
import data.lib.environment
import data.lib.infiniband

report contains environment.finding(c.g, variable, sprintf("NCCL_IB_DISABLE is %s, and the container has %s: InfiniBand is not used", [variable.value, c.resource])) if {
	some c in with_device
	infiniband.disabled(c.g, c.i)
	variable := environment.variable(c.g, c.i, "NCCL_IB_DISABLE")
}

report contains environment.finding(c.g, variable, sprintf("NCCL_NET is %s, and the container has %s: InfiniBand is not used", [variable.value, c.resource])) if {
	some c in with_device
	not infiniband.disabled(c.g, c.i)
	variable := environment.variable(c.g, c.i, "NCCL_NET")
	lower(variable.value) == "socket"
}

report contains environment.finding(c.g, variable, sprintf("NCCL_IB_DISABLE is 0, and %s: NCCL uses sockets", [reason(c.g)])) if {
	some c in without_device
	infiniband.disabled(c.g, c.i) == false
	variable := environment.variable(c.g, c.i, "NCCL_IB_DISABLE")
}

with_device := [{"g": g, "i": d.container, "resource": d.resource} |
	some g in lib.tensorflow_pods
	some d in infiniband.devices(g)
]

# A TrainJob can still give an unused runtime the device. In the host's network and in a privileged container
# the node's devices are there without a resource.
without_device := [{"g": g, "i": i} |
	input.cluster.name
	some g in lib.tensorflow_pods
	g.workload.kind in {"TrainJob", "JobSet"}
	count(infiniband.devices(g)) == 0
	not infiniband.host_network(g)
	some i, container in lib.containers(g)
	object.get(container, ["securityContext", "privileged"], false) != true
]

reason(g) := infiniband.deviceless(g) if infiniband.has_fabric

reason(_) := sprintf("cluster %s has no InfiniBand", [input.cluster.name]) if not infiniband.has_fabric
