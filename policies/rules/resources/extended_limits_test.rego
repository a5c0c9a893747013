package rules_test.resources.extended_limits

import data.lib
import data.rules.resources.extended_limits
import data.rules_test.runs

resources := sprintf("%s/resources", [runs.node])

having(value) := json.patch(runs.kueue, [runs.set(resources, value)])

at(side, resource) := array.concat(runs.node_path, ["resources", side, resource])

no_limit(severity) := {object.union(lib.in_workload({"index": 0}, at("limits", "nvidia.com/gpu"), "nvidia.com/gpu is requested (8) without a limit: no pod can be made"), {"severity": severity})}

test_fail_request_only if {
	extended_limits.report == no_limit("error") with input as having({"requests": {"nvidia.com/gpu": "8"}, "limits": {"cpu": "80"}})
	extended_limits.report == no_limit("error") with input as runs.jobset(having({"requests": {"nvidia.com/gpu": 8}}))
}

test_fail_unused_runtime if {
	extended_limits.report == no_limit("warning") with input as json.patch(having({"requests": {"nvidia.com/gpu": 8}}), [runs.set("/workloads/0/kind", "ClusterTrainingRuntime")])
}

test_fail_init_container if {
	extended_limits.report == {object.union(
		lib.in_workload({"index": 0}, array.concat(runs.pod_path, ["initContainers", 0, "resources", "limits", "rdma/a"]), "rdma/a is requested (1) without a limit: no pod can be made"),
		{"severity": "error"},
	)} with input as json.patch(runs.kueue, [runs.set(sprintf("%s/initContainers", [runs.pod]), [{"name": "wait", "resources": {"requests": {"rdma/a": "1"}}}])])
}

test_fail_unequal if {
	extended_limits.report == {lib.in_workload({"index": 0}, at("requests", "nvidia.com/gpu"), "nvidia.com/gpu is requested as 4 and limited to 8, and must be equal: no pod can be made")} with input as having({"requests": {"nvidia.com/gpu": "4"}, "limits": {"nvidia.com/gpu": 8}})
}

test_fail_hugepages if {
	extended_limits.report == {lib.in_workload({"index": 0}, at("requests", "hugepages-2Mi"), "hugepages-2Mi is requested as 2Gi and limited to 4Gi, and must be equal: no pod can be made")} with input as having({"requests": {"hugepages-2Mi": "2Gi"}, "limits": {"hugepages-2Mi": "4Gi"}})
}

test_fail_fraction if {
	extended_limits.report == {lib.in_workload({"index": 0}, at("limits", "nvidia.com/gpu"), "nvidia.com/gpu is 500m and must be a whole number: no pod can be made")} with input as having({"limits": {"nvidia.com/gpu": "500m"}})
}

test_success_equal if {
	extended_limits.report == set() with input as runs.kueue
	extended_limits.report == set() with input as having({"requests": {"nvidia.com/gpu": 8}, "limits": {"nvidia.com/gpu": "8"}})
}

test_success_limit_only if extended_limits.report == set() with input as having({"requests": {"cpu": "1"}, "limits": {"nvidia.com/gpu": "8"}})

test_success_none if extended_limits.report == set() with input as having({"limits": {"nvidia.com/gpu": "0"}})

test_success_native if {
	extended_limits.report == set() with input as having({"requests": {"cpu": "500m", "memory": "1Gi", "ephemeral-storage": "1Gi", "node.kubernetes.io/x": "1"}})
}
