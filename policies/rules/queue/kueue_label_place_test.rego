package rules_test.queue.kueue_label_place

import data.rules.queue.kueue_label_place
import data.rules_test.runs

label := "kueue.x-k8s.io/queue-name"

# The runtime's template as a path.
replicated := ["spec", "template", "spec", "replicatedJobs", 0, "template"]

found(object, path, kind, place) := {{
	"object": object,
	"path": path,
	"message": sprintf("%s kueue.x-k8s.io/queue-name=day stands on %s, where it does not queue the run: Kueue reads the label of the TrainJob or of a JobSet that nothing owns", [kind, place]),
	"severity": "error",
}}

moved(pointer) := json.patch(runs.kueue, [runs.drop(runs.queue_label), runs.set(sprintf("%s/kueue.x-k8s.io~1queue-name", [pointer]), "day")])

test_fail_jobset_template if {
	kueue_label_place.report == found(1, ["spec", "template", "metadata", "labels", label], "label", "the JobSet") with input as moved("/objects/1/spec/template/metadata/labels")
}

test_fail_job_template if {
	kueue_label_place.report == found(1, array.concat(replicated, ["metadata", "labels", label]), "label", "the Job template") with input as moved("/objects/1/spec/template/spec/replicatedJobs/0/template/metadata/labels")
}

test_fail_pod_template if {
	kueue_label_place.report == found(1, array.concat(replicated, ["spec", "template", "metadata", "labels", label]), "label", "the pod template") with input as moved("/objects/1/spec/template/spec/replicatedJobs/0/template/spec/template/metadata/labels")
}

test_fail_annotation if {
	kueue_label_place.report == found(0, ["metadata", "annotations", label], "annotation", "the object's metadata") with input as json.patch(runs.kueue, [
		runs.drop(runs.queue_label),
		runs.set("/objects/0/metadata/annotations", {label: "day"}),
	])
}

test_fail_runtime_metadata if {
	kueue_label_place.report == found(1, ["metadata", "labels", label], "label", "the object's metadata") with input as json.patch(runs.kueue, [
		runs.drop(runs.queue_label),
		runs.set("/objects/1/metadata/labels", {label: "day"}),
	])
}

patch(manager) := [{"manager": manager, "trainingRuntimeSpec": {"template": {"metadata": {"labels": {label: "day"}}}}}]

test_fail_runtime_patch if {
	path := ["spec", "runtimePatches", 0, "trainingRuntimeSpec", "template", "metadata", "labels", label]
	kueue_label_place.report == found(0, path, "label", "the JobSet") with input as json.patch(runs.kueue, [
		runs.drop(runs.queue_label),
		runs.set("/objects/0/spec/runtimePatches", patch("example.com/team")),
	])
}

test_fail_override if {
	path := ["spec", "podTemplateOverrides", 0, "metadata", "labels", label]
	kueue_label_place.report == found(0, path, "label", "the pod template") with input as json.patch(runs.kueue, [
		runs.drop(runs.queue_label),
		runs.set("/objects/0/spec/podTemplateOverrides", [{"metadata": {"labels": {label: "day"}}}]),
	])
}

test_fail_pods_of_a_jobset if {
	path := array.concat(runs.template_path, ["metadata", "labels", label])
	kueue_label_place.report == found(0, path, "label", "the pod template") with input as json.patch(runs.jobset(runs.kueue), [
		runs.drop(runs.queue_label),
		runs.set("/objects/0/spec/replicatedJobs/0/template/spec/template/metadata/labels", {label: "day"}),
	])
}

test_fail_repeated_below if {
	kueue_label_place.report == {{
		"object": 1,
		"path": ["spec", "template", "metadata", "labels", label],
		"message": "label kueue.x-k8s.io/queue-name=day stands on the JobSet, where it does not queue the run: it can go",
		"severity": "warning",
	}} with input as json.patch(runs.kueue, [runs.set("/objects/1/spec/template/metadata/labels", {label: "day"})])
}

test_success_on_the_trainjob if kueue_label_place.report == set() with input as runs.kueue

test_success_on_the_jobset if kueue_label_place.report == set() with input as runs.jobset(runs.kueue)

test_success_kueues_own_patch if {
	kueue_label_place.report == set() with input as json.patch(runs.kueue, [runs.set("/objects/0/spec/runtimePatches", patch("kueue.x-k8s.io/manager"))])
}

test_success_selector if {
	kueue_label_place.report == set() with input as json.patch(runs.kueue, [runs.set("/objects/1/spec/selector", {"matchLabels": {label: "day"}})])
}
