package rules_test.network.interface

import data.lib
import data.rules.network.interface
import data.rules_test.runs

env := sprintf("%s/env/0", [runs.node])

value(text) := json.patch(runs.kueue, [runs.set(sprintf("%s/value", [env]), text)])

found(text, severity) := {object.union(
	lib.in_workload({"index": 0}, array.concat(runs.node_path, ["env", 0, "value"]), sprintf("NCCL_SOCKET_IFNAME is %s, and the pods of cluster west have eth0: NCCL finds no interface", [text])),
	{"severity": severity},
)}

test_fail_not_selected if {
	every text in ["ens1f0", "net,ib", "=eth", "=ens1,ens2", "^eth,lo", "^lo,docker0,eth0", "^=lo,eth0"] {
		interface.report == found(text, "error") with input as value(text)
	}
}

loopback(text, fix) := {object.union(
	lib.in_workload({"index": 0}, array.concat(runs.node_path, ["env", 0, "value"]), sprintf("NCCL_SOCKET_IFNAME is %s: NCCL takes lo, which every pod has before all others, and reaches no other worker", [text])),
	fix,
)}

test_fail_loopback if {
	every text in ["^docker0", "^eth", "^=eth0", "^=eth1"] {
		interface.report == loopback(text, {"fix": sprintf("Leave lo out as well (%s,lo), or leave the variable out.", [text])}) with input as value(text)
	}
	every text in ["lo", "=lo", "eth0,lo"] {
		interface.report == loopback(text, {}) with input as value(text)
	}
}

test_fail_loopback_of_the_host if {
	count(interface.report) == 1 with input as json.patch(value("^docker0"), [runs.set(sprintf("%s/hostNetwork", [runs.pod]), true)])
}

secondary(text) := json.patch(value(text), [runs.set(sprintf("%s/metadata/annotations/k8s.v1.cni.cncf.io~1networks", [runs.template]), "storage@st0,hostdevice-net")])

test_fail_secondary_network if {
	interface.report == found("st0", "warning") with input as secondary("st0")
	interface.report == found("net2", "warning") with input as secondary("net2")
	interface.report == found("ens1f0", "error") with input as secondary("ens1f0")
}

test_success_selected if {
	every text in ["eth0", "eth", "eth0,ens", "ib0,eth", "=eth0", "eth0:5000", "^docker,lo", "^=eth1,lo", "l", ""] {
		interface.report == set() with input as value(text)
	}
}

# The fact is a prefix too.
test_success_longer_than_the_fact if {
	interface.report == set() with input as json.patch(value("net1"), [runs.set("/cluster/network/interface", "net")])
	interface.report == set() with input as json.patch(value("=net1"), [runs.set("/cluster/network/interface", "net")])
}

test_success_not_set if interface.report == set() with input as json.patch(runs.kueue, [runs.drop(env)])

test_success_value_from_elsewhere if {
	interface.report == set() with input as json.patch(runs.kueue, [runs.put(env, {"name": "NCCL_SOCKET_IFNAME", "valueFrom": {"configMapKeyRef": {"name": "nccl", "key": "interface"}}})])
}

test_success_hosts_network if interface.report == set() with input as json.patch(value("ens1f0"), [runs.set(sprintf("%s/hostNetwork", [runs.pod]), true)])
