package rules_test.trainer.fields_used

import data.rules.trainer.fields_used.report
import data.rules_test.fixture

with_trainer(field, value, version) := json.patch(fixture.trainjob, [
	{"op": "add", "path": "/versions", "value": {"trainer": version}},
	{"op": "add", "path": sprintf("/objects/0/spec/trainer/%s", [field]), "value": value},
])

without_policy(document) := json.patch(document, [
	{"op": "remove", "path": "/objects/1/spec/mlPolicy"},
	{"op": "replace", "path": "/workloads/0/mlPolicy", "value": {}},
])

resources := {"limits": {"nvidia.com/gpu": "8"}}

test_fail_resources if {
	report == {fixture.at(
		0, ["spec", "trainer", "resourcesPerNode"],
		"the runtime tf has no mlPolicy: Trainer ignores resourcesPerNode, and the pods ask for what the runtime says",
	)} with input as without_policy(with_trainer("resourcesPerNode", resources, "2.3.0"))
}

test_fail_processes if {
	report == {object.union(
		fixture.at(
			0, ["spec", "trainer", "numProcPerNode"],
			"numProcPerNode is 8, and the runtime has no policy that reads it: Trainer ignores it",
		),
		{"severity": "warning", "fix": "Leave it out: a TensorFlow worker uses all GPUs of its pod in one process."},
	)} with input as with_trainer("numProcPerNode", 8, "2.3.0")
}

fix := {"fix": "Write all resources in the runtime's container, claims among them, and no resourcesPerNode."}

test_fail_claims if {
	report == {object.union(
		fixture.at(
			0, ["spec", "trainer", "resourcesPerNode", "claims"],
			"Trainer drops the claims of resourcesPerNode (gpus): the pods get no device of them",
		),
		fix,
	)} with input as with_trainer("resourcesPerNode", {"claims": [{"name": "gpus"}]}, "2.3.0")
}

claimed(document) := json.patch(document, [{
	"op": "add",
	"path": "/objects/1/spec/template/spec/replicatedJobs/0/template/spec/template/spec/containers/0/resources",
	"value": {"claims": [{"name": "gpus"}]},
}])

test_fail_claims_of_the_runtime if {
	report == {object.union(
		fixture.at(
			0, ["spec", "trainer", "resourcesPerNode"],
			"with resourcesPerNode Trainer drops the claims of the runtime's container (gpus): the pods get no device of them",
		),
		fix,
	)} with input as claimed(with_trainer("resourcesPerNode", resources, "2.2.1"))
}

test_success_claims_of_the_runtime if report == set() with input as claimed(with_trainer("numNodes", 2, "2.3.0"))

test_success_with_policy if report == set() with input as with_trainer("resourcesPerNode", resources, "2.3.0")

test_success_before_2_3 if report == set() with input as without_policy(with_trainer("resourcesPerNode", resources, "2.2.1"))

test_success_other_framework if {
	document := json.patch(with_trainer("numProcPerNode", 8, "2.3.0"), [{"op": "add", "path": "/workloads/0/mlPolicy/torch", "value": {}}])
	report == set() with input as document
}
