package rules_test.jobset.success_after_training

import data.rules.jobset.success_after_training.report
import data.rules_test.fixture

# The trainer's Job behind an initializer.
behind_initializer(policy) := json.patch(fixture.trainjob, [
	{"op": "add", "path": "/workloads/0/jobset/spec/replicatedJobs/0", "value": {
		"name": "dataset-initializer",
		"template": {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "dataset-initializer"}}, "spec": {}},
	}},
	{"op": "add", "path": "/workloads/0/jobset/spec/successPolicy", "value": policy},
])

test_fail_any if {
	report == {fixture.in_workload(
		["spec", "successPolicy", "operator"],
		"the success of any of dataset-initializer, node completes the run, and dataset-initializer is over before the workers begin: they are deleted",
	)} with input as behind_initializer({"operator": "Any"})
}

test_fail_initializer_alone if {
	report == {fixture.in_workload(
		["spec", "successPolicy", "targetReplicatedJobs"],
		"the success of dataset-initializer completes the run, and that is over before the workers begin: they are deleted",
	)} with input as behind_initializer({"operator": "All", "targetReplicatedJobs": ["dataset-initializer"]})
}

# What the workers wait for is over before them, whatever it is called.
test_fail_awaited if {
	document := json.patch(fixture.jobset, [
		{"op": "add", "path": "/workloads/0/pods/0/tensorflow", "value": false},
		{"op": "add", "path": "/workloads/0/jobset/spec/replicatedJobs/1/dependsOn", "value": [{"name": "leader", "status": "Complete"}]},
	])
	report == {fixture.in_workload(
		["spec", "successPolicy", "operator"],
		"the success of any of leader, worker completes the run, and leader is over before the workers begin: they are deleted",
	)} with input as fixture.with_spec(document, "successPolicy", {"operator": "Any"})
}

test_success_all if {
	report == set() with input as behind_initializer({"operator": "All"})
	report == set() with input as behind_initializer({"operator": "All", "targetReplicatedJobs": ["dataset-initializer", "node"]})
}

test_success_any_of_the_workers if {
	report == set() with input as behind_initializer({"operator": "Any", "targetReplicatedJobs": ["node"]})
	report == set() with input as fixture.with_spec(fixture.jobset, "successPolicy", {"operator": "Any"})
}

test_success_none if report == set() with input as fixture.trainjob
