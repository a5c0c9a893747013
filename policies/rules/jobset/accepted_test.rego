package rules_test.jobset.accepted

import data.rules.jobset.accepted
import data.rules_test.fixture

jobs := ["spec", "replicatedJobs"]

waits(document, job, name) := json.patch(document, [{
	"op": "add",
	"path": sprintf("/workloads/0/jobset/spec/replicatedJobs/%d/dependsOn", [job]),
	"value": [{"name": name, "status": "Ready"}],
}])

waiting(job, message) := {fixture.in_workload(array.concat(jobs, [job, "dependsOn", 0, "name"]), message)}

test_fail_first_waits if {
	accepted.report == waiting(0, "the Job leader waits for worker, which does not stand above it: JobSet refuses the JobSet") with input as waits(fixture.jobset, 0, "worker")
}

test_fail_waits_for_none if {
	accepted.report == waiting(1, "the Job worker waits for data, which the JobSet does not have (it has: leader): JobSet refuses the JobSet") with input as waits(fixture.jobset, 1, "data")
}

test_fail_waits_for_itself if {
	accepted.report == waiting(1, "the Job worker waits for worker, which is itself: JobSet never makes it") with input as waits(fixture.jobset, 1, "worker")
	accepted.report == waiting(0, "the Job leader waits for leader, which is itself: JobSet refuses the JobSet") with input as waits(fixture.jobset, 0, "leader")
}

test_fail_success_policy if {
	accepted.report == {fixture.in_workload(
		["spec", "successPolicy", "targetReplicatedJobs", 1],
		"successPolicy names the Job workers, which the JobSet does not have (it has: leader, worker): JobSet refuses the JobSet",
	)} with input as fixture.with_spec(fixture.jobset, "successPolicy", {"operator": "All", "targetReplicatedJobs": ["leader", "workers"]})
}

rules(list) := fixture.with_spec(fixture.trainjob, "failurePolicy", {"maxRestarts": 1, "rules": list})

rule_path(path) := array.concat(["spec", "failurePolicy", "rules"], path)

test_fail_failure_policy if {
	accepted.report == {
		fixture.in_workload(
			rule_path([0, "targetReplicatedJobs", 0]),
			"a rule of failurePolicy names the Job worker, which the JobSet does not have (it has: node): JobSet refuses the JobSet",
		),
		object.union(
			fixture.in_workload(rule_path([0, "onJobFailureReasons", 1]), "OOMKilled is no reason of a failed Job: JobSet refuses the JobSet"),
			{"fix": "Write one of BackoffLimitExceeded, DeadlineExceeded, FailedIndexes, MaxFailedIndexesExceeded, PodFailurePolicy."},
		),
	} with input as rules([{"action": "FailJobSet", "targetReplicatedJobs": ["worker"], "onJobFailureReasons": ["PodFailurePolicy", "OOMKilled"]}])
}

test_fail_rule_names if {
	accepted.report == {
		object.union(
			fixture.in_workload(rule_path([0, "name"]), "`host-failed` cannot be the name of a rule of failurePolicy: JobSet refuses the JobSet"),
			{"fix": accepted.rule_name},
		),
		object.union(
			fixture.in_workload(rule_path([2, "name"]), "two rules of failurePolicy are called twice: JobSet refuses the JobSet"),
			{"fix": accepted.rule_name},
		),
	} with input as rules([
		{"action": "FailJobSet", "name": "host-failed"},
		{"action": "FailJobSet", "name": "twice"},
		{"action": "FailJobSet", "name": "twice"},
	])
}

coordinator(field, reason) := {object.union(
	fixture.in_workload(["spec", "coordinator", field], sprintf("the coordinator is not there (%s): JobSet refuses the JobSet", [reason])),
	{"fix": accepted.coordinator_fix},
)}

test_fail_coordinator if {
	accepted.report == coordinator("replicatedJob", "there is no Job chief, but leader, worker") with input as fixture.with_spec(fixture.jobset, "coordinator", {"replicatedJob": "chief"})
	accepted.report == coordinator("jobIndex", "jobIndex is 1, of 1") with input as fixture.with_spec(fixture.jobset, "coordinator", {"replicatedJob": "leader", "jobIndex": 1})
	accepted.report == coordinator("podIndex", "podIndex is 3, of 3") with input as fixture.with_spec(fixture.jobset, "coordinator", {"replicatedJob": "worker", "podIndex": 3})
}

claims(document) := fixture.with_spec(document, "volumeClaimPolicies", [{"templates": [{"metadata": {"name": "cache"}}]}])

claim_path := ["spec", "volumeClaimPolicies", 0, "templates", 0, "metadata", "name"]

mounted := fixture.with_container(claims(fixture.trainjob), "volumeMounts", [{"name": "cache", "mountPath": "/cache"}])

test_fail_claim_that_nobody_mounts if {
	accepted.report == {object.union(
		fixture.in_workload(claim_path, "no container mounts the claim cache of volumeClaimPolicies: JobSet refuses the JobSet"),
		{"fix": "Mount it where it is needed: `volumeMounts: [{name: cache, mountPath: /…}]`."},
	)} with input as claims(fixture.trainjob)
}

test_fail_claim_beside_a_volume if {
	accepted.report == {object.union(
		fixture.in_workload(claim_path, "the Job node has a volume cache of its own beside the claim of that name in volumeClaimPolicies: JobSet refuses the JobSet"),
		{"fix": "Leave the volume out: JobSet adds it."},
	)} with input as fixture.with_pod(mounted, "volumes", [{"name": "cache", "emptyDir": {}}])
}

test_fail_group if {
	accepted.report == {object.union(
		fixture.in_workload(["spec", "replicatedJobs", 0, "groupName"], "groupName `Workers` is no RFC 1035 label of at most 63 characters: JobSet refuses the JobSet"),
		{"fix": "Write lower-case letters, digits and `-`, a letter first."},
	)} with input as json.patch(fixture.trainjob, [{"op": "add", "path": "/workloads/0/jobset/spec/replicatedJobs/0/groupName", "value": "Workers"}])
}

test_success_claim if accepted.report == set() with input as mounted

test_success if {
	every document in [fixture.trainjob, fixture.runtime, fixture.jobset, waits(fixture.jobset, 1, "leader")] {
		accepted.report == set() with input as document
	}
	accepted.report == set() with input as fixture.with_spec(fixture.jobset, "coordinator", {"replicatedJob": "worker", "podIndex": 2})
	accepted.report == set() with input as rules([
		{"action": "FailJobSet", "name": "bad_script", "targetReplicatedJobs": ["node"], "onJobFailureReasons": ["PodFailurePolicy"]},
		{"action": "RestartJobSet"},
		{"action": "RestartJobSet"},
	])
}
