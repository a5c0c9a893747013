package rules_test.trainer.worker_count

import data.rules.trainer.worker_count.report
import data.rules_test.fixture

workers(value) := {"name": "TF_NUM_WORKERS", "value": value}

with_env(document, env) := fixture.with_container(document, "env", env)

finding(index, value, size, severity) := object.union(
	fixture.in_workload(fixture.container_path(["env", index, "value"]), message(value, size)),
	{"severity": severity},
)

message(value, size) := sprintf(
	"TF_NUM_WORKERS is %s and the number of workers is %d: the workers do not agree on their cluster",
	[value, size],
)

test_fail_more if {
	report == {finding(0, "4", 2, "error")} with input as with_env(fixture.trainjob, [workers("4")])
}

test_fail_no_number if {
	report == {finding(0, "two", 2, "error")} with input as with_env(fixture.trainjob, [workers("two")])
}

# Kubernetes takes the last of two entries.
test_fail_last_counts if {
	report == {finding(2, "1", 2, "error")} with input as with_env(
		fixture.trainjob,
		[workers("2"), {"name": "EPOCHS", "value": "1"}, workers("1")],
	)
}

test_fail_one_node_waits_for_two if {
	report == {finding(0, "2", 1, "error")} with input as with_env(fixture.single, [workers("2")])
}

beside(name, count, changes) := json.patch(with_env(fixture.trainjob, [workers("2")]), array.concat(
	[
		{"op": "add", "path": "/workloads/0/jobset/spec/replicatedJobs/-", "value": fixture.job(name, count)},
		{"op": "add", "path": "/workloads/0/pods/-", "value": fixture.pods(name, 1, count)},
	],
	changes,
))

# The workers are those of the trainer's Job.
test_success_a_job_beside_the_trainer if {
	report == set() with input as beside("chief", 1, [])
}

# tfrun counts the pods of the worker's own Job.
under_tfrun(count, number) := beside("more-node", count, [
	{"op": "add", "path": sprintf("%s/command", [second]), "value": ["tfrun", "python3", "train.py"]},
	{"op": "add", "path": sprintf("%s/env", [second]), "value": [workers(number)]},
])

second := "/workloads/0/jobset/spec/replicatedJobs/1/template/spec/template/spec/containers/0"

test_fail_a_cluster_of_its_own_that_lacks_workers if {
	{found.message | some found in report} == {message("2", 1)} with input as under_tfrun(1, "2")
}

test_success_a_cluster_of_its_own if {
	report == set() with input as under_tfrun(2, "2")
	report == set() with input as under_tfrun(3, "3")
}

# Those that tfrun starts train side by side, one alone and three together.
test_success_jobs_of_a_jobset if {
	report == set() with input as json.patch(fixture.jobset, [change |
		some at, number in ["1", "3"]
		container := sprintf("/workloads/0/jobset/spec/replicatedJobs/%d/template/spec/template/spec/containers/0", [at])
		some field, value in {"command": ["tfrun", "python3", "train.py"], "env": [workers(number)]}
		change := {"op": "add", "path": sprintf("%s/%s", [container, field]), "value": value}
	])
}

test_fail_jobset if {
	report == {finding(0, "3", 4, "error")} with input as with_env(fixture.jobset, [workers("3")])
}

test_fail_runtime_may_still_be_overridden if {
	report == {finding(0, "3", 2, "warning")} with input as with_env(fixture.runtime, [workers("3")])
}

# A TrainJob whose runtime is not known says both numbers itself.
alone(number) := json.patch(fixture.trainjob, [
	{"op": "replace", "path": "/workloads/0/jobset", "value": null},
	{"op": "add", "path": "/objects/0/spec/trainer/env", "value": [workers(number)]},
])

test_fail_runtime_unknown if {
	report == {{
		"object": 0,
		"path": ["spec", "trainer", "env", 0, "value"],
		"message": "TF_NUM_WORKERS is 7 and the number of workers is 2: the workers do not agree on their cluster",
	}} with input as alone("7")
}

test_success_runtime_unknown if {
	report == set() with input as alone("2")
	report == set() with input as alone("$(NODES)")
}

test_success_equal if {
	report == set() with input as with_env(fixture.trainjob, [workers("2")])
	report == set() with input as with_env(fixture.jobset, [workers("4")])
}

test_success_absent_or_from_elsewhere if {
	report == set() with input as fixture.trainjob
	elsewhere := {"name": "TF_NUM_WORKERS", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}
	report == set() with input as with_env(fixture.trainjob, [elsewhere])
}

test_success_not_tensorflow if {
	report == set() with input as with_env(fixture.torch, [workers("4")])
}
