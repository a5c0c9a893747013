package rules_test.trainer.runtime_exists

import data.rules.trainer.runtime_exists.report
import data.rules_test.fixture

with_ref(ref) := fixture.with_trainjob(fixture.trainjob, "spec/runtimeRef", ref)

finding(message) := fixture.at(0, ["spec", "runtimeRef", "name"], message)

test_fail_no_such_runtime if {
	message := concat(" ", [
		"runtimeRef names ClusterTrainingRuntime tf-ib, which does not exist",
		"(ClusterTrainingRuntimes: tf): Trainer refuses the TrainJob",
	])
	report == {finding(message)} with input as with_ref({"name": "tf-ib"})
}

test_fail_other_kind if {
	message := concat(" ", [
		"runtimeRef names TrainingRuntime tf, which does not exist",
		"(there is ClusterTrainingRuntime/tf): Trainer refuses the TrainJob",
	])
	report == {finding(message)} with input as with_ref({"name": "tf", "kind": "TrainingRuntime"})
}

test_fail_other_namespace if {
	runtime := {
		"apiVersion": "trainer.kubeflow.org/v1alpha1",
		"kind": "TrainingRuntime",
		"metadata": {"name": "own", "namespace": "other"},
	}
	message := concat(" ", [
		"runtimeRef names TrainingRuntime own, which does not exist",
		"(there is TrainingRuntime/other/own): Trainer refuses the TrainJob",
	])
	document := fixture.set(with_ref({"name": "own", "kind": "TrainingRuntime"}), "/objects", "-", runtime)
	report == {finding(message)} with input as document
}

test_fail_shipped_is_uncertain if {
	message := concat(" ", [
		"runtimeRef names ClusterTrainingRuntime torch-distributed, which does not exist",
		"(ClusterTrainingRuntimes: tf): Trainer refuses the TrainJob",
	])
	report == {object.union(finding(message), {"severity": "warning"})} with input as with_ref({"name": "torch-distributed"})
}

test_fail_unknown_kind_and_group if {
	report == {fixture.at(
		0,
		["spec", "runtimeRef", "kind"],
		"runtimeRef.kind is Runtime: Trainer knows ClusterTrainingRuntime and TrainingRuntime only",
	)} with input as with_ref({"name": "tf", "kind": "Runtime"})
	report == {fixture.at(
		0,
		["spec", "runtimeRef", "apiGroup"],
		"runtimeRef.apiGroup is kubeflow.org: Trainer knows runtimes of trainer.kubeflow.org only",
	)} with input as with_ref({"name": "tf", "apiGroup": "kubeflow.org"})
}

test_success_there if {
	report == set() with input as fixture.trainjob
	report == set() with input as with_ref({"name": "tf", "apiGroup": "trainer.kubeflow.org", "kind": "ClusterTrainingRuntime"})
}

test_success_namespaced if {
	namespaced := json.patch(with_ref({"name": "tf", "kind": "TrainingRuntime"}), [
		{"op": "replace", "path": "/objects/1/kind", "value": "TrainingRuntime"},
		{"op": "add", "path": "/objects/1/metadata/namespace", "value": "team"},
	])
	report == set() with input as namespaced
}

test_success_external if {
	external := {"kind": "ClusterTrainingRuntime", "namespace": "", "name": "tf-ib"}
	report == set() with input as fixture.set(with_ref({"name": "tf-ib"}), "/cluster/external", "-", external)
}
