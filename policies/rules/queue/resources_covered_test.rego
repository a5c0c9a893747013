package rules_test.queue.resources_covered

import data.rules.queue.resources_covered
import data.rules_test.runs

request := array.concat(runs.node_path, ["resources", "requests"])

found(resource, covered) := {{
	"workload": 0,
	"path": array.concat(request, [resource]),
	"message": sprintf("%s is requested, and no resource group of ClusterQueue survey covers it (%s): the run is never admitted", [resource, covered]),
}}

uncovered := json.patch(runs.kueue, [runs.set("/objects/3/spec/resourceGroups/0/coveredResources", ["cpu", "nvidia.com/gpu"])])

test_fail_memory if resources_covered.report == found("memory", "cpu, nvidia.com/gpu") with input as uncovered

test_fail_jobset if resources_covered.report == found("memory", "cpu, nvidia.com/gpu") with input as runs.jobset(uncovered)

test_fail_device if {
	resources_covered.report == found("nvidia.com/hostdev", "cpu, memory, nvidia.com/gpu") with input as json.patch(runs.infiniband, [runs.set("/objects/3/spec/resourceGroups/0/coveredResources", ["cpu", "memory", "nvidia.com/gpu"])])
}

# The limit is the request where there is none.
test_fail_limit_only if {
	resources_covered.report == {{
		"workload": 0,
		"path": array.concat(runs.node_path, ["resources", "limits", "memory"]),
		"message": "memory is requested, and no resource group of ClusterQueue survey covers it (cpu, nvidia.com/gpu): the run is never admitted",
	}} with input as json.patch(uncovered, [runs.drop(sprintf("%s/resources/requests", [runs.node]))])
}

test_success_second_group if {
	resources_covered.report == set() with input as json.patch(uncovered, [runs.set("/objects/3/spec/resourceGroups/-", {"coveredResources": ["memory"], "flavors": []})])
}

test_success_all if resources_covered.report == set() with input as runs.kueue

test_success_none_of_it if resources_covered.report == set() with input as json.patch(uncovered, [runs.set("/workloads/0/pods/0/requests/memory", 0)])

test_success_queue_unknown if resources_covered.report == set() with input as json.patch(uncovered, [runs.drop("/objects/2")])

# Kueue's configuration in the input.
test_success_excluded if {
	resources_covered.report == set() with input as json.patch(uncovered, [runs.set("/objects/-", {
		"apiVersion": "v1",
		"kind": "ConfigMap",
		"metadata": {"name": "kueue-manager-config", "namespace": "kueue-system"},
		"data": {"controller_manager_config.yaml": "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nresources: {excludeResourcePrefixes: [mem]}\n"},
	})])
}

# A LimitRange adds a request to every container.
ranged(amounts) := json.patch(runs.kueue, [runs.set("/objects/-", {
	"apiVersion": "v1",
	"kind": "LimitRange",
	"metadata": {"name": "defaults", "namespace": runs.kueue.workloads[0].namespace},
	"spec": {"limits": [{"type": "Container", "default": amounts}]},
})])

test_fail_limit_range if {
	{finding.path | some finding in resources_covered.report} == {["spec", "limits", 0, "default", "ephemeral-storage"]} with input as ranged({"cpu": "1", "ephemeral-storage": "5Gi"})
}

test_success_limit_range_of_covered_resources if resources_covered.report == set() with input as ranged({"cpu": "1", "memory": "1Gi"})
