# METADATA
# title: NCCL looks for an interface that the cluster's pods have
# description: |
#   NCCL takes the first interface that NCCL_SOCKET_IFNAME matches: a comma separated list of prefixes, of exact names
#   after a leading `=`, or of what to leave out after a leading `^`. Where nothing matches it ends with "no socket interface
#   found" on every worker; where `lo` is not left out, as in `^docker0`, it takes `lo` and reaches no other worker.
#   Not set, it looks for an interface itself.
# related_resources:
# - ref: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-socket-ifname
# - ref: https://github.com/horovod/horovod/pull/700
#   description: why ^docker0 takes lo
# custom:
#   symptoms:
#   - "Bootstrap : no socket interface found"
#   - "Bootstrap : Using lo:127.0.0.1"
#   seen:
#   - "lab: tests/training/test_nccl.py::test_the_gate_judges_an_interface_as_nccl_takes_it"
#   severity: error
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
	some variable in variables(g)
	not matches(variable.value, "lo")
	not selects(variable.value, interface)
	message := sprintf("NCCL_SOCKET_IFNAME is %s, and the pods of cluster %s have %s: NCCL finds no interface", [variable.value, input.cluster.name, interface])
}

report contains object.union(environment.finding(g, variable, message), fix(variable.value)) if {
	some g in lib.gangs
	some variable in variables(g)
	matches(variable.value, "lo")
	message := sprintf("NCCL_SOCKET_IFNAME is %s: NCCL takes lo, which every pod has before all others, and reaches no other worker", [variable.value])
}

fix(value) := {"fix": sprintf("Leave lo out as well (%s,lo), or leave the variable out.", [value])} if startswith(value, "^")

fix(value) := {} if not startswith(value, "^")

variables(g) := {variable |
	some i, _ in lib.containers(g)
	variable := environment.variable(g, i, "NCCL_SOCKET_IFNAME")
	count(variable.value) > 1 # NCCL takes no notice of less
}

interface := input.cluster.network.interface if {
	input.cluster.network.interface != ""
	not regex.match(`[\^=,]`, input.cluster.network.interface)
}

# The fact is a prefix as well: `net` stands for net1, and a value of net1 can be right.
selects(value, name) if {
	not startswith(value, "^")
	some item in items(trim_prefix(value, "="))
	startswith(item, name)
}

selects(value, name) if matches(value, name)

matches(value, name) if {
	not startswith(value, "^")
	not startswith(value, "=")
	some item in items(value)
	startswith(name, item)
}

matches(value, name) if {
	startswith(value, "=")
	name in items(trim_prefix(value, "="))
}

matches(value, name) if {
	startswith(value, "^")
	not startswith(value, "^=")
	every item in items(trim_prefix(value, "^")) { not startswith(name, item) }
}

matches(value, name) if {
	startswith(value, "^=")
	not name in items(trim_prefix(value, "^="))
}

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
