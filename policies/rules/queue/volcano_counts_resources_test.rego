package rules_test.queue.volcano_counts_resources

import data.lib
import data.rules.queue.volcano_counts_resources as rule
import data.rules_test.runs

limited(resource) := runs.drop(sprintf("%s/resources/requests/%s", [runs.node, resource]))

found(place, resource, message) := {lib.in_workload(
	{"index": 0},
	array.concat(runs.pod_path, array.concat(place, ["resources", "limits", resource])),
	sprintf("the PodGroup does not count %s in limits only: Volcano enqueues the gang where the queue has no room for it, and holds others for what it does not use", [message]),
)}

test_fail_gpus if {
	rule.report == found(["containers", 0], "nvidia.com/gpu", "nvidia.com/gpu, which stands") with input as json.patch(runs.volcano, [limited("nvidia.com~1gpu")])
}

test_fail_several if {
	rule.report == found(["containers", 0], "memory", "memory, nvidia.com/gpu, which stand") with input as json.patch(runs.volcano, [limited("nvidia.com~1gpu"), limited("memory")])
}

test_fail_no_requests if {
	rule.report == found(["containers", 0], "cpu", "cpu, memory, nvidia.com/gpu, which stand") with input as json.patch(runs.volcano, [runs.drop(sprintf("%s/resources/requests", [runs.node]))])
}

init(more) := json.patch(runs.volcano, [runs.set(
	sprintf("%s/initContainers", [runs.pod]),
	[object.union({"name": "proxy", "resources": {"limits": {"memory": "1Gi"}}}, more)],
)])

test_fail_sidecar if {
	rule.report == found(["initContainers", 0], "memory", "memory, which stands") with input as init({"restartPolicy": "Always"})
}

test_success_init_container if rule.report == set() with input as init({})

test_success_requested if rule.report == set() with input as runs.volcano

test_success_none_of_it if {
	rule.report == set() with input as json.patch(runs.volcano, [limited("nvidia.com~1gpu"), runs.set(sprintf("%s/resources/limits/nvidia.com~1gpu", [runs.node]), "0")])
}

test_success_of_the_pod if {
	rule.report == set() with input as json.patch(runs.volcano, [limited("memory"), runs.set(sprintf("%s/resources", [runs.pod]), {"requests": {"memory": "600Gi"}})])
}

test_success_no_pod_group if {
	rule.report == set() with input as json.patch(runs.volcano, [limited("nvidia.com~1gpu"), runs.set("/workloads/0/podGroupPolicy", {})])
}

# Kueue takes a limit for a missing request.
test_success_kueue if rule.report == set() with input as json.patch(runs.kueue, [limited("nvidia.com~1gpu")])
