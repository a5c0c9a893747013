package rules_test.queue.volcano_capability

import data.lib
import data.rules.queue.volcano_capability
import data.rules_test.runs

four := json.patch(runs.volcano, runs.pods(4))

found(message) := {lib.in_workload({"index": 0}, runs.parallelism, message)}

test_fail_nodes if {
	volcano_capability.report == found("4 pods need 320 cpu, 2048Gi memory, 32 nvidia.com/gpu, more than the capability of Volcano Queue survey (160 cpu, 1024Gi memory, 16 nvidia.com/gpu): the gang never starts") with input as four
}

test_fail_one_resource if {
	volcano_capability.report == found("2 pods need 16 nvidia.com/gpu, more than the capability of Volcano Queue survey (8 nvidia.com/gpu): the gang never starts") with input as json.patch(runs.volcano, [runs.set("/objects/2/spec/capability/nvidia.com~1gpu", 8)])
}

test_fail_default_queue if {
	count(volcano_capability.report) == 1 with input as json.patch(four, [
		runs.set("/objects/2/metadata/name", "default"),
		runs.set("/workloads/0/jobset/metadata/annotations", {}),
	])
}

test_success_exactly if volcano_capability.report == set() with input as runs.volcano

test_success_not_listed if volcano_capability.report == set() with input as json.patch(four, [runs.set("/objects/2/spec/capability", {"example.com/disk": 1})])

test_success_no_capability if volcano_capability.report == set() with input as json.patch(four, [runs.set("/objects/2/spec", {"weight": 1})])

test_success_other_queue if volcano_capability.report == set() with input as json.patch(four, [runs.set("/objects/2/metadata/name", "other")])

# 32 GPUs in all.
guaranteed(n) := json.patch(runs.volcano, [
	runs.set("/objects/2/spec/capability", {"example.com/disk": 1}),
	runs.set("/objects/-", {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "sea"}, "spec": {"guarantee": {"resource": {"nvidia.com/gpu": n}}}}),
])

test_fail_guaranteed_to_others if {
	volcano_capability.report == found("2 pods need 16 nvidia.com/gpu, and of the 32 that the nodes have other queues are guaranteed 17: the gang never starts in Volcano Queue survey") with input as guaranteed("17")
}

test_success_guaranteed_to_others if volcano_capability.report == set() with input as guaranteed("16")

test_success_guaranteed_to_itself if {
	volcano_capability.report == set() with input as json.patch(runs.volcano, [runs.set("/objects/2/spec/guarantee", {"resource": {"nvidia.com/gpu": 32}})])
}
