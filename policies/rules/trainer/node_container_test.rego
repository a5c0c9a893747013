package rules_test.trainer.node_container

import data.rules.trainer.node_container.report
import data.rules_test.fixture

path := ["spec", "template", "spec", "replicatedJobs", 0, "template", "spec", "template", "spec", "containers"]

with_containers(names) := fixture.with_runtime(
	fixture.trainjob,
	"spec/template/spec/replicatedJobs/0/template/spec/template/spec/containers",
	[{"name": name} | some name in names],
)

message(wanted, names) := sprintf(
	"no container is named %s (there is: %s): Trainer refuses the runtime, as it would not know where to write image, command and env",
	[wanted, names],
)

test_fail_other_name if {
	report == {fixture.at(
		1,
		array.concat(path, [0, "name"]),
		message("node", "tensorflow"),
	)} with input as with_containers(["tensorflow"])
}

test_fail_two_others if {
	report == {fixture.at(1, path, message("node", "logs, tf"))} with input as with_containers(["tf", "logs"])
}

test_fail_none if {
	report == {fixture.at(1, path, message("node", "none"))} with input as with_containers([])
}

test_fail_initializer if {
	document := fixture.with_runtime(
		fixture.trainjob,
		"spec/template/spec/replicatedJobs/0/template/metadata/labels",
		{"trainer.kubeflow.org/trainjob-ancestor-step": "dataset-initializer"},
	)
	report == {fixture.at(1, array.concat(path, [0, "name"]), message("dataset-initializer", "node"))} with input as document
}

test_success_among_others if {
	report == set() with input as with_containers(["logs", "node"])
}

test_success_jobset_names_are_free if {
	report == set() with input as fixture.with_container(fixture.jobset, "name", "tensorflow")
}
