package rules_test.queue.one_system

import data.rules.queue.one_system
import data.rules_test.runs

label := ["metadata", "labels", "kueue.x-k8s.io/queue-name"]

both := json.patch(runs.volcano, [runs.set("/cluster/versions/kueue", "0.17.0"), runs.set(runs.queue_label, "day")])

two := {{"object": 0, "path": label, "message": "the run has a Kueue queue (day) and podGroupPolicy.volcano: two systems decide when it starts"}}

test_fail_label_and_pod_group if one_system.report == two with input as both

test_fail_without_cluster if one_system.report == two with input as json.patch(both, [runs.set("/cluster", null)])

test_fail_label_and_scheduler if {
	one_system.report == {{
		"object": 0,
		"path": label,
		"message": "the run has a Kueue queue (day) and pods with schedulerName volcano: two systems decide when it starts",
	}} with input as json.patch(both, [runs.set("/workloads/0/podGroupPolicy", {})])
}

test_fail_no_kueue if {
	one_system.report == {{
		"object": 0,
		"path": label,
		"message": "the run asks for queue day of Kueue, and cluster west has no Kueue: the label is ignored",
	}} with input as json.patch(runs.kueue, [runs.set("/cluster/versions", {"volcano": "1.14.1"})])
}

test_fail_no_volcano if {
	one_system.report == {{
		"object": 1,
		"path": ["spec", "podGroupPolicy", "volcano"],
		"message": "podGroupPolicy.volcano on cluster west, which has no Volcano: the PodGroup cannot be made and the run never starts",
	}} with input as json.patch(runs.volcano, [runs.set("/cluster/versions", {"kueue": "0.17.0"})])
}

test_fail_unused_runtime if {
	{finding.object | some finding in one_system.report} == {1} with input as json.patch(runs.volcano, [
		runs.set("/cluster/versions", {"kueue": "0.17.0"}),
		runs.set("/workloads/0/kind", "ClusterTrainingRuntime"),
		runs.set("/workloads/0/object", 1),
		runs.set("/workloads/0/runtime", null),
	])
}

test_fail_no_volcano_scheduler if {
	one_system.report == {{
		"workload": 0,
		"path": array.concat(runs.pod_path, ["schedulerName"]),
		"message": "schedulerName is volcano on cluster west, which has no Volcano: no pod is ever scheduled",
	}} with input as json.patch(runs.kueue, [runs.set(sprintf("%s/schedulerName", [runs.pod]), "volcano")])
}

test_success_kueue if one_system.report == set() with input as runs.kueue

test_success_volcano if one_system.report == set() with input as runs.volcano

test_success_both_installed if {
	one_system.report == set() with input as json.patch(runs.kueue, [runs.set("/cluster/versions/volcano", "1.14.1")])
}
