package rules_test.queue.volcano_queue_accepted

import data.lib
import data.rules.queue.volcano_queue_accepted
import data.rules_test.runs

spec(value) := json.patch(runs.volcano, [runs.put("/objects/2/spec", value)])

found(path, message) := {lib.at(2, path, message)}

test_fail_deserved if {
	volcano_queue_accepted.report == found(["spec", "deserved"], "deserved (0.1 cpu) is more than capability (0 cpu)") with input as spec({"capability": {"nvidia.com/gpu": 4}, "deserved": {"nvidia.com/gpu": "2", "cpu": "100m"}})
}

test_fail_guarantee_alone if {
	volcano_queue_accepted.report == found(["spec", "guarantee", "resource"], "guarantee (2 nvidia.com/gpu) is more than deserved (0 nvidia.com/gpu)") with input as spec({"guarantee": {"resource": {"nvidia.com/gpu": "2"}}})
}

test_fail_guarantee if {
	volcano_queue_accepted.report == found(["spec", "guarantee", "resource"], "guarantee (4 nvidia.com/gpu) is more than deserved (2 nvidia.com/gpu)") with input as spec({"capability": {"nvidia.com/gpu": "8"}, "deserved": {"nvidia.com/gpu": "2"}, "guarantee": {"resource": {"nvidia.com/gpu": "4"}}})
}

test_fail_parent if {
	volcano_queue_accepted.report == found(["spec", "parent"], "the parent Queue science does not exist (there is: survey)") with input as spec({"parent": "science"})
	volcano_queue_accepted.report == found(["spec", "parent"], "the Queue is its own parent") with input as spec({"parent": "survey"})
}

family(parent, first, second) := json.patch(spec(object.union(first, {"parent": "science"})), [
	runs.set("/objects/-", {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "science"}, "spec": parent}),
	runs.set("/objects/-", {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "deep"}, "spec": object.union(second, {"parent": "science"})}),
])

gpus(n) := {"nvidia.com/gpu": n}

test_fail_capability_of_a_child if {
	volcano_queue_accepted.report == found(["spec", "capability"], "capability (4 nvidia.com/gpu) is more than that of the parent Queue science (0 nvidia.com/gpu)") with input as family({}, {"capability": gpus(4)}, {})
}

test_fail_children_together if {
	volcano_queue_accepted.report == {lib.at(6, ["spec", "deserved"], "deserved of its child Queues together (9 nvidia.com/gpu) is more than its capability (8 nvidia.com/gpu)")} with input as family({"capability": gpus(8)}, {"deserved": gpus(4)}, {"deserved": gpus(5)})
	volcano_queue_accepted.report == {lib.at(6, ["spec", "deserved"], "deserved of its child Queues together (9 nvidia.com/gpu) is more than its deserved (6 nvidia.com/gpu)")} with input as family({"capability": gpus(10), "deserved": gpus(6)}, {"deserved": gpus(4)}, {"deserved": gpus(5)})
}

test_success_family if {
	volcano_queue_accepted.report == set() with input as family({"capability": gpus(8)}, {"capability": gpus(8), "deserved": gpus(4)}, {"deserved": gpus(4)})
	volcano_queue_accepted.report == set() with input as family({}, {"deserved": gpus(4)}, {"deserved": gpus(4)})
}

test_success_all_three if {
	volcano_queue_accepted.report == set() with input as spec({"parent": "root", "capability": gpus(8), "deserved": gpus(4), "guarantee": {"resource": gpus(4)}})
}

test_success_external_parent if {
	volcano_queue_accepted.report == set() with input as json.patch(spec({"parent": "science"}), [runs.set("/cluster/external/-", {"kind": "Queue", "namespace": "", "name": "science"})])
}
