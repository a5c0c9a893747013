package rules_test.jobset.nothing_endless

import data.lib.roles
import data.rules.jobset.nothing_endless.report
import data.rules_test.fixture

beside(container) := json.patch(fixture.trainjob, [{
	"op": "add",
	"path": "/workloads/0/jobset/spec/replicatedJobs/0/template/spec/template/spec/containers/-",
	"value": container,
}])

second(field) := fixture.pod_path(["containers", 1, field])

test_fail_container if {
	programs := {
		"TensorBoard": ["tensorboard", "--logdir", "/logs"],
		"sleep infinity": ["sh", "-c", "upload; sleep infinity"],
		"tail -f": ["tail", "-n", "5", "-f", "/logs/out"],
	}
	every what, command in programs {
		message := sprintf("the container aside runs %s, which never ends: when the training has ended its pod stays Running and keeps its GPUs", [what])
		report == {fixture.in_workload(second("name"), message)} with input as beside({"name": "aside", "command": command})
	}
}

test_fail_image if {
	message := "the container logs is of an image that runs for ever: if it does, its pod stays Running and keeps its GPUs"
	report == {object.union(
		fixture.in_workload(second("image"), message),
		{"severity": "warning"},
	)} with input as beside({"name": "logs", "image": "registry.example/fluent/fluent-bit:3.1"})
}

# A leader that is TensorBoard, before three workers.
board := json.patch(fixture.jobset, [
	{"op": "replace", "path": "/workloads/0/pods/0/tensorflow", "value": false},
	{"op": "add", "path": "/workloads/0/jobset/spec/replicatedJobs/0/template/spec/template/spec/containers/0/command", "value": ["tensorboard"]},
])

never := object.union(
	fixture.in_workload(
		fixture.container_path(["name"]),
		"the Job leader runs TensorBoard, which never ends, and the run is Complete only when it has: it never is",
	),
	{"fix": "Say whose success counts: `successPolicy: {operator: All, targetReplicatedJobs: [worker]}`."},
)

test_fail_job if report == {never} with input as board

test_fail_waits_for_it if {
	report == {never, object.union(
		fixture.in_workload(
			["spec", "replicatedJobs", 1, "dependsOn", 0, "status"],
			"the Job worker waits for leader to be Complete, which runs TensorBoard and never is",
		),
		{"fix": "Wait for it to be Ready (`status: Ready`)."},
	)} with input as json.patch(board, [{
		"op": "add",
		"path": "/workloads/0/jobset/spec/replicatedJobs/1/dependsOn",
		"value": [{"name": "leader", "status": "Complete"}],
	}])
}

test_success_job_that_does_not_count if {
	report == set() with input as fixture.with_spec(board, "successPolicy", {"operator": "All", "targetReplicatedJobs": ["worker"]})
	report == set() with input as fixture.with_spec(board, "successPolicy", {"operator": "Any"})
}

test_success_sidecar if {
	document := fixture.with_pod(fixture.trainjob, "initContainers", [{"name": "board", "restartPolicy": "Always", "command": ["tensorboard"]}])
	report == set() with input as document
}

test_success_ends if {
	report == set() with input as beside({"name": "upload", "image": "registry.example/upload:1", "command": ["sh", "-c", "sleep 30; tail -n 5 /logs/out"]})
	report == set() with input as fixture.trainjob
}

test_words if {
	not roles.endless({"command": ["python3", "tensorboard_export.py"]})
	roles.endless({"command": ["/usr/local/bin/tensorboard"], "args": ["--logdir=/logs"]}) == "TensorBoard"
}
