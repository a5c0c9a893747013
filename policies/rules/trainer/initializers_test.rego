package rules_test.trainer.initializers

import data.rules.trainer.initializers.report
import data.rules_test.fixture

initializer := {
	"name": "dataset-initializer",
	"template": {
		"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "dataset-initializer"}},
		"spec": {"template": {"spec": {
			"containers": [{"name": "dataset-initializer", "volumeMounts": [{"name": "initializer", "mountPath": "/data"}]}],
			"volumes": [{"name": "initializer", "persistentVolumeClaim": {"claimName": "data"}}],
		}}},
	},
}

asked := fixture.with_trainjob(fixture.trainjob, "spec/initializer", {"dataset": {"storageUri": "hf://a/b"}})

jobs := "/workloads/0/jobset/spec/replicatedJobs"

with_job(job) := json.patch(asked, [{"op": "replace", "path": jobs, "value": [
	job,
	object.union(asked.workloads[0].jobset.spec.replicatedJobs[0], {"dependsOn": [{"name": job.name, "status": "Complete"}]}),
]}])

changed(pointer, value) := json.patch(initializer, [{"op": "replace", "path": pointer, "value": value}])

found(message) := {fixture.at(0, ["spec", "initializer", "dataset"], message)}

pod := "/template/spec/template/spec"

test_fail_no_job if {
	report == found("the runtime has no replicatedJob dataset-initializer: Trainer refuses the TrainJob") with input as asked
	report == found("the runtime has no replicatedJob dataset-initializer: Trainer refuses the TrainJob") with input as with_job(changed("/name", "fetch"))
}

test_fail_no_container if {
	report == found("the runtime has no container dataset-initializer in the replicatedJob dataset-initializer: Trainer refuses the TrainJob") with input as with_job(changed(sprintf("%s/containers/0/name", [pod]), "fetch"))
}

test_fail_no_mount if {
	report == found("the runtime has no mount `initializer` in the container dataset-initializer: Trainer refuses the TrainJob") with input as with_job(changed(sprintf("%s/containers/0/volumeMounts/0/name", [pod]), "data"))
}

test_fail_no_label if {
	report == found("no Job of the runtime has the label trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer, so all of it is ignored") with input as with_job(changed("/template/metadata/labels", {}))
}

test_fail_beside if {
	message := "the Job node does not wait for dataset-initializer to be Complete: the training starts beside it"
	every before in [[], [{"name": "dataset-initializer", "status": "Ready"}]] {
		document := json.patch(with_job(initializer), [{"op": "replace", "path": sprintf("%s/1/dependsOn", [jobs]), "value": before}])
		report == {object.union(
			fixture.in_workload(["spec", "replicatedJobs", 1, "dependsOn"], message),
			{"severity": "warning"},
		)} with input as document
	}
}

test_fail_empty_dir if {
	report == {fixture.in_workload(
		fixture.pod_path(["volumes", 0, "emptyDir"]),
		"what dataset-initializer fetches goes into an emptyDir of its own pod, which ends with it: the workers never see it",
	)} with input as with_job(changed(sprintf("%s/volumes/0", [pod]), {"name": "initializer", "emptyDir": {"medium": ""}}))
}

test_success if {
	report == set() with input as with_job(initializer)
	report == set() with input as fixture.trainjob
}

# The trainer waits for what waits for the initializer.
test_success_through_another if {
	[first, node] := with_job(initializer).workloads[0].jobset.spec.replicatedJobs
	between := {"name": "convert", "template": {"spec": {}}, "dependsOn": node.dependsOn}
	last := object.union(node, {"dependsOn": [{"name": "convert", "status": "Complete"}]})
	report == set() with input as json.patch(asked, [{"op": "replace", "path": jobs, "value": [first, between, last]}])
}
