package rules_test.trainer.ancestor_label

import data.rules.trainer.ancestor_label.report
import data.rules_test.fixture

key := "trainer.kubeflow.org/trainjob-ancestor-step"

jobs := ["spec", "template", "spec", "replicatedJobs"]

label := array.concat(jobs, [0, "template", "metadata", "labels", key])

with_label(value) := fixture.with_runtime(
	fixture.trainjob,
	"spec/template/spec/replicatedJobs/0/template/metadata/labels", value,
)

absent(hint) := concat("", [
	"no Job template has the label trainer.kubeflow.org/trainjob-ancestor-step: trainer",
	hint,
	": numNodes, image, command and env of TrainJobs are ignored",
])

test_fail_absent if {
	report == {fixture.at(1, label, absent(""))} with input as with_label({})
}

test_fail_other_value if {
	report == {fixture.at(1, label, absent(" (here it is node)"))} with input as with_label({key: "node"})
}

test_fail_on_the_pod_template if {
	document := fixture.with_runtime(with_label({}), "spec/template/spec/replicatedJobs/0/template/spec/template/metadata", {"labels": {key: "trainer"}})
	message := concat(" ", [
		"the label trainer.kubeflow.org/trainjob-ancestor-step is on the pod template,",
		"Trainer looks for it on the Job template: numNodes, image, command and env of TrainJobs are ignored",
	])
	report == {fixture.at(
		1,
		array.concat(jobs, [0, "template", "spec", "template", "metadata", "labels", key]),
		message,
	)} with input as document
}

# The Job that is meant is the one with the container `node`, wherever it stands.
test_fail_absent_in_the_second_job if {
	initializer := fixture.job("dataset-initializer", 1)
	document := json.patch(with_label({}), [{
		"op": "add",
		"path": "/objects/1/spec/template/spec/replicatedJobs/0",
		"value": json.patch(initializer, [{
			"op": "replace",
			"path": "/template/spec/template/spec/containers/0/name",
			"value": "dataset-initializer",
		}]),
	}])
	path := array.concat(jobs, [1, "template", "metadata", "labels", key])
	report == {fixture.at(1, path, absent(""))} with input as document
}

test_fail_two_trainers if {
	job := input_job(fixture.trainjob)
	document := fixture.with_runtime(fixture.trainjob, "spec/template/spec/replicatedJobs/-", job)
	message := "2 Jobs have the label trainer.kubeflow.org/trainjob-ancestor-step: trainer: only the first gets numNodes"
	report == {fixture.at(1, array.concat(jobs, [1, "template", "metadata", "labels", key]), message)} with input as document
}

test_fail_replicas if {
	document := fixture.with_runtime(fixture.trainjob, "spec/template/spec/replicatedJobs/0/replicas", 4)
	message := "replicas is 4: Trainer refuses anything but 1 in a Job that it fills in"
	report == {object.union(
		fixture.at(1, array.concat(jobs, [0, "replicas"]), message),
		{"fix": "Write replicas: 1, or leave it out: numNodes counts the workers."},
	)} with input as document
}

test_fail_no_jobs if {
	report == {fixture.at(
		1, jobs,
		concat(" ", [
			"there is no replicatedJob, so none with the label trainer.kubeflow.org/trainjob-ancestor-step: trainer:",
			"numNodes, image, command and env of TrainJobs are ignored",
		]),
	)} with input as fixture.with_runtime(fixture.trainjob, "spec/template/spec/replicatedJobs", [])
}

# Also where nobody uses it, where it is namespaced, and of any framework.
test_fail_other_runtimes if {
	namespaced := fixture.with_runtime(with_label({}), "kind", "TrainingRuntime")
	torch := fixture.with_runtime(with_label({}), "metadata/labels", {"trainer.kubeflow.org/framework": "torch"})
	every document in [namespaced, torch] {
		report == {fixture.at(1, label, absent(""))} with input as document
	}
}

test_success_labelled if {
	report == set() with input as fixture.trainjob
	report == set() with input as fixture.with_runtime(fixture.trainjob, "spec/template/spec/replicatedJobs/0/replicas", 1)
}

test_success_initializers if {
	initializer := json.patch(input_job(fixture.trainjob), [{
		"op": "replace",
		"path": "/template/metadata/labels",
		"value": {key: "model-initializer"},
	}])
	report == set() with input as fixture.with_runtime(fixture.trainjob, "spec/template/spec/replicatedJobs/-", initializer)
}

test_success_jobset if {
	report == set() with input as fixture.jobset
}

input_job(document) := document.objects[1].spec.template.spec.replicatedJobs[0]
