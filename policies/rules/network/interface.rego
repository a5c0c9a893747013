# METADATA
# title: NCCL looks for an interface that the cluster's pods have
# description: |
#   NCCL_SOCKET_IFNAME is a comma separated list of prefixes, of exact names after a leading `=`, or of what to leave out
#   after a leading `^`. If nothing matches, NCCL ends with "no socket interface found" on every worker. Not set, NCCL
#   looks for an interface itself.
# related_resources:
# - ref: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-socket-ifname
# custom:
#   symptoms:
#   - "Bootstrap : no socket interface found"
#   severity: error
#   needs: cluster
#   fix: "Write network.interface of cluster.yaml as the value of NCCL_SOCKET_IFNAME, or leave the variable out."
#   example: |
#     containers:
#     - name: node
#       env: [{name: NCCL_SOCKET_IFNAME, value: ens1f0}]  # the pods of the cluster have eth0
package rules.network.interface

import data.lib
import data.lib.environment
import data.lib.infiniband

report contains object.union(environment.finding(g, variable, message), {"severity": severity(g, variable.value)}) if {
	some g in lib.tensorflow_pods
	not infiniband.host_network(g)
	some i, _ in lib.containers(g)
	variable := environment.variable(g, i, "NCCL_SOCKET_IFNAME")
	count(variable.value) > 1 # NCCL takes no notice of less
	not selects(variable.value, interface)
	message := sprintf("NCCL_SOCKET_IFNAME is %s, and the pods of cluster %s have %s: NCCL finds no interface", [variable.value, input.cluster.name, interface])
}

interface := input.cluster.network.interface if {
	input.cluster.network.interface != ""
	not regex.match(`[\^=,]`, input.cluster.network.interface)
}

# The fact is a prefix as well: `net` stands for net1, and a value of net1 can be right.
selects(value, name) if {
	not startswith(value, "^")
	not startswith(value, "=")
	some item in items(value)
	related(item, name)
}

selects(value, name) if {
	startswith(value, "=")
	some item in items(trim_prefix(value, "="))
	startswith(item, name)
}

selects(value, name) if {
	startswith(value, "^")
	not startswith(value, "^=")
	every item in items(trim_prefix(value, "^")) { not startswith(name, item) }
}

selects(value, name) if {
	startswith(value, "^=")
	not name in items(trim_prefix(value, "^="))
}

related(item, name) if startswith(name, item)

related(item, name) if startswith(item, name)

# A port may follow the name.
items(text) := [name | some item in split(text, ","); name := split(item, ":")[0]; name != ""]

# A pod with a secondary network has more interfaces than the cluster's facts name.
severity(g, value) := "warning" if secondary(g, value)

severity(g, value) := "error" if not secondary(g, value)

secondary(g, value) if {
	some i, n in infiniband.networks(g)
	name := [part | some part in [n.interface, sprintf("net%d", [i + 1])]; part != ""][0]
	selects(value, name)
}
