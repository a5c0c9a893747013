package rules_test.queue.volcano_annotation

import data.rules.queue.volcano_annotation
import data.rules_test.runs

annotation := "scheduling.volcano.sh/queue-name"

annotations := "/workloads/0/jobset/metadata/annotations"

unnamed := json.patch(runs.volcano, [runs.set(annotations, {})])

right := ["metadata", "annotations", annotation]

wrong(place) := sprintf("annotation scheduling.volcano.sh/queue-name stands on %s, where Trainer does not read it: the gang goes to Volcano's queue default", [place])

test_fail_empty if {
	volcano_annotation.report == {{
		"workload": 0,
		"path": right,
		"message": "annotation scheduling.volcano.sh/queue-name is empty: Trainer refuses the TrainJob",
	}} with input as json.patch(runs.volcano, [runs.set(annotations, {annotation: ""})])
}

test_fail_absent if {
	volcano_annotation.report == {{
		"workload": 0,
		"path": right,
		"message": "podGroupPolicy.volcano without the annotation scheduling.volcano.sh/queue-name: the gang goes to Volcano's queue default",
		"severity": "warning",
	}} with input as unnamed
}

test_fail_pod_template if {
	volcano_annotation.report == {{
		"workload": 0,
		"path": array.concat(runs.template_path, right),
		"message": wrong("the pod template"),
	}} with input as json.patch(unnamed, [runs.set(sprintf("%s/metadata/annotations", [runs.template]), {annotation: "survey"})])
}

test_fail_job_template if {
	volcano_annotation.report == {{
		"workload": 0,
		"path": array.concat(["spec", "replicatedJobs", 0, "template"], right),
		"message": wrong("the Job template"),
	}} with input as json.patch(unnamed, [runs.set(sprintf("%s/metadata/annotations", [runs.job]), {annotation: "survey"})])
}

test_fail_trainjob if {
	volcano_annotation.report == {{
		"object": 0,
		"path": right,
		"message": wrong("the object's metadata"),
	}} with input as json.patch(unnamed, [runs.set("/objects/0/metadata/annotations", {annotation: "survey"})])
}

test_fail_runtime if {
	volcano_annotation.report == {{
		"object": 1,
		"path": right,
		"message": wrong("the object's metadata"),
	}} with input as json.patch(unnamed, [runs.set("/objects/1/metadata/annotations", {annotation: "survey"})])
}

as_label(place) := sprintf("label scheduling.volcano.sh/queue-name stands on %s, where Trainer does not read it: the gang goes to Volcano's queue default", [place])

test_fail_label if {
	volcano_annotation.report == {{
		"workload": 0,
		"path": ["metadata", "labels", annotation],
		"message": as_label("the JobSet"),
	}} with input as json.patch(unnamed, [runs.set("/workloads/0/jobset/metadata/labels", {annotation: "survey"})])
}

test_fail_label_of_the_trainjob if {
	volcano_annotation.report == {{
		"object": 0,
		"path": ["metadata", "labels", annotation],
		"message": as_label("the object's metadata"),
	}} with input as json.patch(unnamed, [runs.set("/objects/0/metadata/labels", {annotation: "survey"})])
}

# What the annotation says holds.
test_success_label_beside_the_annotation if {
	volcano_annotation.report == set() with input as json.patch(runs.volcano, [runs.set("/workloads/0/jobset/metadata/labels", {annotation: "survey"})])
}

test_success_named if volcano_annotation.report == set() with input as runs.volcano

# A TrainJob can still name the queue.
test_success_unused_runtime if {
	volcano_annotation.report == set() with input as json.patch(unnamed, [
		runs.set("/workloads/0/kind", "ClusterTrainingRuntime"),
		runs.set("/workloads/0/object", 1),
		runs.set("/workloads/0/runtime", null),
	])
}

# Volcano takes the namespace's queue instead of `default`.
test_success_queue_of_the_namespace if {
	volcano_annotation.report == set() with input as json.patch(unnamed, [runs.set("/objects/5/metadata/annotations", {annotation: "survey"})])
}

test_success_kueue if volcano_annotation.report == set() with input as runs.kueue
