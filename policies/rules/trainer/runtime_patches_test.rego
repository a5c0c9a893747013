package rules_test.trainer.runtime_patches

import data.rules.trainer.runtime_patches.report
import data.rules_test.fixture

with_patch(manager, jobs) := fixture.with_trainjob(fixture.trainjob, "spec/runtimePatches", [{
	"manager": manager,
	"trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}},
}])

jobs_path := ["spec", "runtimePatches", 0, "trainingRuntimeSpec", "template", "spec", "replicatedJobs"]

pod_path := array.concat(jobs_path, [0, "template", "spec", "template", "spec"])

job(name, pod) := {"name": name, "template": {"spec": {"template": {"spec": pod}}}}

test_fail_manager if {
	every manager in ["me", "example.com/", "/me", "Example.com/me"] {
		report == {object.union(
			fixture.at(
				0,
				["spec", "runtimePatches", 0, "manager"],
				sprintf("manager %s is no domain-prefixed path: Trainer refuses the TrainJob", [manager]),
			),
			{"fix": "Write a domain and a path, such as `manager: example.com/team`."},
		)} with input as with_patch(manager, [])
	}
}

kueues_own := with_patch("kueue.x-k8s.io/manager", [])

without_cluster(document) := json.patch(document, [{"op": "replace", "path": "/cluster", "value": null}])

second := {object.union(
	fixture.at(
		0,
		["spec", "runtimePatches", 0, "manager"],
		"Kueue adds the entry of manager kueue.x-k8s.io/manager to every TrainJob: the API server refuses the second",
	),
	{"fix": "Leave the entry out: it is Kueue's."},
)}

test_fail_kueues_own if {
	report == second with input as kueues_own
	report == second with input as without_cluster(fixture.with_trainjob(kueues_own, "metadata/labels", {"kueue.x-k8s.io/queue-name": "nightly"}))
}

test_success_kueue_that_adds_none if {
	report == set() with input as without_cluster(kueues_own)
	report == set() with input as json.patch(kueues_own, [{"op": "replace", "path": "/cluster/versions", "value": {"volcano": "1.14.1"}}])
}

test_fail_replicated_job if {
	report == {fixture.at(
		0,
		array.concat(jobs_path, [0, "name"]),
		"the runtime has no replicatedJob trainer-node (it has: node), and a patch can give one no image",
	)} with input as with_patch("example.com/me", [job("trainer-node", {"containers": [{"name": "node"}]})])
}

test_fail_container if {
	message := "the runtime's replicatedJob node has no container trainer (it has: node), and a patch can give one no image"
	every list in ["containers", "initContainers"] {
		report == {fixture.at(
			0,
			array.concat(pod_path, [list, 0, "name"]),
			message,
		)} with input as with_patch("example.com/me", [job("node", {list: [{"name": "trainer"}]})])
	}
}

env := [{"name": "node", "env": [{"name": "EPOCHS", "value": "3"}]}]

test_fail_env_of_node if {
	report == {object.union(
		fixture.at(
			0,
			array.concat(pod_path, ["containers", 0, "env"]),
			"a patch gives env to the container node: Trainer refuses the TrainJob",
		),
		{"fix": "Write these variables in spec.trainer.env of the TrainJob."},
	)} with input as with_patch("example.com/me", [job("node", {"containers": env})])
}

# Trainer 2.1.
test_fail_overrides if {
	overrides := [{"targetJobs": [{"name": "node"}, {"name": "nodes"}], "spec": {"containers": env}}]
	report == {
		fixture.at(
			0,
			["spec", "podTemplateOverrides", 0, "targetJobs", 1, "name"],
			"the runtime has no replicatedJob nodes (it has: node), and a patch can give one no image",
		),
		object.union(
			fixture.at(
				0,
				["spec", "podTemplateOverrides", 0, "spec", "containers", 0, "env"],
				"a patch gives env to the container node: Trainer refuses the TrainJob",
			),
			{"fix": "Write these variables in spec.trainer.env of the TrainJob."},
		),
	} with input as fixture.with_trainjob(fixture.trainjob, "spec/podTemplateOverrides", overrides)
}

test_success_mounts if {
	mounts := {"containers": [{"name": "node", "volumeMounts": [{"name": "code", "mountPath": "/code"}]}]}
	report == set() with input as with_patch("example.com/me", [job("node", mounts)])
}

test_success_env_of_another_container if {
	document := fixture.with_runtime(
		with_patch("example.com/me", [job("node", {"containers": [{"name": "logs", "env": [{"name": "A", "value": "1"}]}]})]),
		"spec/template/spec/replicatedJobs/0/template/spec/template/spec/containers/-", {"name": "logs"},
	)
	report == set() with input as document
}

test_success_runtime_not_known if {
	document := fixture.set(with_patch("example.com/me", [job("launcher", {})]), "/workloads/0", "runtime", "none")
	report == set() with input as json.patch(document, [{"op": "replace", "path": "/workloads/0/runtime", "value": null}])
}
