package rules_test.queue.kueue_label

import data.rules.queue.kueue_label
import data.rules_test.runs

place := ["metadata", "labels", "kueue.x-k8s.io/queue-name"]

missing := {{"object": 0, "path": place, "message": "label kueue.x-k8s.io/queue-name is missing: nothing queues this TrainJob, it starts at once outside every quota"}}

test_fail_absent if {
	kueue_label.report == missing with input as json.patch(runs.kueue, [runs.drop(runs.queue_label)])
}

empty(kind) := {{
	"object": 0,
	"path": place,
	"message": sprintf("label kueue.x-k8s.io/queue-name is empty: Kueue refuses the %s", [kind]),
}}

test_fail_empty if {
	emptied := json.patch(runs.kueue, [runs.set(runs.queue_label, "")])
	kueue_label.report == empty("TrainJob") with input as emptied
	kueue_label.report == empty("TrainJob") with input as json.patch(emptied, [runs.set("/cluster", null)])
	kueue_label.report == empty("JobSet") with input as json.patch(runs.jobset(runs.kueue), [runs.set(runs.queue_label, "")])
}

test_fail_other_framework if {
	kueue_label.report == missing with input as json.patch(runs.kueue, [runs.drop(runs.queue_label), runs.set("/workloads/0/tensorflow", false)])
}

test_fail_coscheduling if {
	kueue_label.report == missing with input as json.patch(runs.kueue, [runs.drop(runs.queue_label), runs.set("/workloads/0/podGroupPolicy/coscheduling", {})])
}

test_fail_without_cluster if {
	kueue_label.report == missing with input as json.patch(runs.kueue, [runs.drop(runs.queue_label), runs.set("/cluster", null)])
}

test_fail_volcano_cluster if {
	kueue_label.report == {{
		"object": 0,
		"path": ["spec", "runtimeRef", "name"],
		"message": "runtime tf-sky has no podGroupPolicy.volcano: nothing queues this TrainJob, it starts at once outside every quota",
		"fix": "Use a runtime with `podGroupPolicy: {volcano: {}}`, `schedulerName: volcano` in its pods and a queue annotation.",
		"severity": "error",
	}} with input as no_pod_group
}

no_pod_group := json.patch(runs.volcano, [runs.set("/workloads/0/podGroupPolicy", {}), runs.drop(sprintf("%s/schedulerName", [runs.pod]))])

severities := {finding.severity | some finding in kueue_label.report}

test_fail_volcano_one_pod_is_no_gang if severities == {"warning"} with input as json.patch(no_pod_group, [runs.set("/workloads/0/pods/0/count", 1)])

test_fail_volcano_other_framework if severities == {"warning"} with input as json.patch(no_pod_group, [
	runs.set("/workloads/0/tensorflow", false),
	runs.set("/workloads/0/pods/0/tensorflow", false),
])

jobset(severity, resources) := {object.union(finding, {
	"message": sprintf("label kueue.x-k8s.io/queue-name is missing: the JobSet takes %s, which a ClusterQueue gives out, outside its quota", [resources]),
	"severity": severity,
}) |
	some finding in missing
}

test_fail_jobset if {
	kueue_label.report == jobset("error", "cpu, memory, nvidia.com/gpu") with input as json.patch(runs.jobset(runs.kueue), [runs.drop(runs.queue_label)])
}

test_fail_jobset_of_cpu_only if {
	kueue_label.report == jobset("warning", "cpu") with input as json.patch(runs.jobset(runs.kueue), [
		runs.drop(runs.queue_label),
		runs.set("/workloads/0/demand", {"cpu": 2}),
		runs.set("/workloads/0/tensorflow", false),
	])
}

test_success_labelled if kueue_label.report == set() with input as runs.kueue

test_success_volcano if kueue_label.report == set() with input as runs.volcano

# Kueue gives a run the LocalQueue `default` of its namespace.
test_success_default_queue if {
	kueue_label.report == set() with input as json.patch(runs.kueue, [runs.drop(runs.queue_label), runs.set("/objects/2/metadata/name", "default")])
}

test_success_jobset_that_takes_nothing if {
	kueue_label.report == set() with input as json.patch(runs.jobset(runs.kueue), [runs.drop(runs.queue_label), runs.set("/workloads/0/demand", {"example.com/disk": 1})])
}

test_success_owned if {
	kueue_label.report == set() with input as json.patch(runs.jobset(runs.kueue), [
		runs.drop(runs.queue_label),
		runs.set("/objects/0/metadata/ownerReferences", [{"controller": true}]),
	])
}

# Kueue fills in an empty label like a missing one.
test_success_empty_in_default_queue if {
	kueue_label.report == set() with input as json.patch(runs.kueue, [runs.set(runs.queue_label, ""), runs.set("/objects/2/metadata/name", "default")])
}

# The runtime may have a podGroupPolicy.
test_success_unknown_runtime_on_both if {
	kueue_label.report == set() with input as json.patch(runs.kueue, [
		runs.drop(runs.queue_label),
		runs.set("/cluster/versions/volcano", "1.14.1"),
		runs.set("/workloads/0/runtime", null),
	])
}

test_success_other_framework_without_cluster if {
	kueue_label.report == set() with input as json.patch(runs.kueue, [
		runs.drop(runs.queue_label),
		runs.set("/cluster", null),
		runs.set("/workloads/0/tensorflow", false),
	])
}
