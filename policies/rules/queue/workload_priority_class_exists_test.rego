package rules_test.queue.workload_priority_class_exists

import data.rules.queue.workload_priority_class_exists
import data.rules_test.runs

label := "kueue.x-k8s.io/priority-class"

urgent := json.patch(runs.kueue, [runs.set("/objects/0/metadata/labels/kueue.x-k8s.io~1priority-class", "urgent")])

test_fail_missing if {
	workload_priority_class_exists.report == {{
		"object": 0,
		"path": ["metadata", "labels", label],
		"message": "WorkloadPriorityClass urgent does not exist (there is: none): the run stays suspended without a Workload",
	}} with input as urgent
}

test_fail_priority_class_of_pods if {
	count(workload_priority_class_exists.report) == 1 with input as json.patch(urgent, [runs.set("/objects/-", {
		"apiVersion": "scheduling.k8s.io/v1",
		"kind": "PriorityClass",
		"metadata": {"name": "urgent"},
	})])
}

test_success_exists if {
	workload_priority_class_exists.report == set() with input as json.patch(urgent, [runs.set("/objects/-", {
		"apiVersion": "kueue.x-k8s.io/v1beta2",
		"kind": "WorkloadPriorityClass",
		"metadata": {"name": "urgent"},
	})])
}

test_success_no_label if workload_priority_class_exists.report == set() with input as runs.kueue
