package rules_test.infiniband.not_disabled

import data.lib
import data.rules.infiniband.not_disabled
import data.rules_test.runs

env := sprintf("%s/env", [runs.node])

switch(from, value) := json.patch(from, [runs.put(sprintf("%s/1", [env]), value)])

found(index, message) := {lib.in_workload({"index": 0}, array.concat(runs.node_path, ["env", index, "value"]), message)}

off := found(1, "NCCL_IB_DISABLE is 1, and the container has nvidia.com/hostdev: InfiniBand is not used")

disabled := switch(runs.infiniband, {"name": "NCCL_IB_DISABLE", "value": "1"})

test_fail_disabled if not_disabled.report == off with input as disabled

test_fail_without_cluster if not_disabled.report == off with input as json.patch(disabled, [runs.set("/cluster", null)])

test_fail_socket if {
	not_disabled.report == found(2, "NCCL_NET is Socket, and the container has nvidia.com/hostdev: InfiniBand is not used") with input as json.patch(runs.infiniband, [runs.set(sprintf("%s/-", [env]), {"name": "NCCL_NET", "value": "Socket"})])
}

enabled := switch(runs.kueue, {"name": "NCCL_IB_DISABLE", "value": "0"})

test_fail_enabled_on_a_cluster_without if {
	not_disabled.report == found(1, "NCCL_IB_DISABLE is 0, and cluster west has no InfiniBand: NCCL uses sockets") with input as enabled
}

test_fail_enabled_without_device if {
	not_disabled.report == found(1, "NCCL_IB_DISABLE is 0, and the pods ask for no nvidia.com/hostdev: NCCL uses sockets") with input as json.patch(runs.infiniband, [runs.set("/workloads", enabled.workloads)])
}

test_success_enabled_with_device if not_disabled.report == set() with input as runs.infiniband

test_success_disabled_without_device if {
	not_disabled.report == set() with input as runs.kueue
	not_disabled.report == set() with input as json.patch(runs.infiniband, [runs.set("/workloads", runs.kueue.workloads)])
}

test_success_not_said if {
	not_disabled.report == set() with input as json.patch(runs.infiniband, [runs.drop(sprintf("%s/1", [env]))])
	not_disabled.report == set() with input as json.patch(runs.kueue, [runs.drop(sprintf("%s/1", [env]))])
}

test_success_value_from_elsewhere if {
	not_disabled.report == set() with input as switch(runs.infiniband, {"name": "NCCL_IB_DISABLE", "valueFrom": {"configMapKeyRef": {"name": "nccl", "key": "off"}}})
}

config(value) := runs.set("/objects/-", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "nccl", "namespace": "survey"}, "data": {"NCCL_IB_DISABLE": value}})

in_config := {lib.at(6, ["data", "NCCL_IB_DISABLE"], "NCCL_IB_DISABLE is 1, and the container has nvidia.com/hostdev: InfiniBand is not used")}

test_fail_key_of_a_config_map if {
	not_disabled.report == in_config with input as json.patch(switch(runs.infiniband, {"name": "NCCL_IB_DISABLE", "valueFrom": {"configMapKeyRef": {"name": "nccl", "key": "NCCL_IB_DISABLE"}}}), [config("1")])
}

# All variables of a ConfigMap.
imported := json.patch(runs.infiniband, [runs.drop(sprintf("%s/1", [env])), runs.set(sprintf("%s/envFrom", [runs.node]), [{"configMapRef": {"name": "nccl"}}])])

test_fail_config_map if not_disabled.report == in_config with input as json.patch(imported, [config("1")])

test_success_config_map if {
	not_disabled.report == set() with input as json.patch(imported, [config("0")])
	not_disabled.report == set() with input as json.patch(runs.infiniband, [runs.set(sprintf("%s/envFrom", [runs.node]), [{"configMapRef": {"name": "nccl"}}]), config("1")])
}

# The last entry counts.
test_success_overridden if {
	not_disabled.report == set() with input as json.patch(disabled, [runs.set(sprintf("%s/-", [env]), {"name": "NCCL_IB_DISABLE", "value": "0"})])
}

test_success_enabled_without_facts if not_disabled.report == set() with input as json.patch(enabled, [runs.set("/cluster", null)])

test_success_host_network if not_disabled.report == set() with input as json.patch(enabled, [runs.set(sprintf("%s/hostNetwork", [runs.pod]), true)])

test_success_not_tensorflow if not_disabled.report == set() with input as json.patch(disabled, [runs.set("/workloads/0/pods/0/tensorflow", false)])
