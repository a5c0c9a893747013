package rules_test.resources.namespace_quota

import data.lib
import data.rules.resources.namespace_quota.report
import data.rules_test.runs

limited(hard) := with_quota({"hard": hard})

with_quota(spec) := json.patch(runs.kueue, [runs.set("/objects/-", {
	"apiVersion": "v1",
	"kind": "ResourceQuota",
	"metadata": {"name": "share", "namespace": "survey"},
	"spec": spec,
})])

found(needed, most) := {lib.in_workload({"index": 0}, runs.parallelism, sprintf("its pods need %s at a time, and ResourceQuota share of namespace survey allows %s: what is beyond is never made, while the others hold their nodes", [needed, most]))}

test_fail_requests if {
	report == found("16 requests.nvidia.com/gpu", "8") with input as limited({"requests.nvidia.com/gpu": "8"})
	report == found("1024Gi memory", "1000Gi") with input as limited({"memory": "1000Gi"})
	report == found("160 requests.cpu", "100") with input as limited({"requests.cpu": "100"})
}

test_fail_limits if report == found("160 limits.cpu", "100") with input as limited({"limits.cpu": 100})

test_fail_pods if {
	report == found("2 pods", "1") with input as limited({"pods": "1"})
	report == found("2 pods", "1") with input as runs.jobset(limited({"count/pods": "1"}))
}

test_fail_jobs if report == found("1 Jobs", "0") with input as limited({"count/jobs.batch": "0"})

test_success_exactly if {
	report == set() with input as limited({"requests.nvidia.com/gpu": "16", "pods": "2", "count/pods": 2, "limits.memory": "1Ti", "count/jobs.batch": "1", "cpu": "160"})
}

test_success_others_are_counted if {
	report == set() with input as limited({"requests.storage": "1Gi", "count/configmaps": "0", "services": "0"})
	report == set() with input as with_quota({"hard": {"pods": "1"}, "scopes": ["BestEffort"]})
	report == set() with input as with_quota({"hard": {"pods": "1"}, "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["low"]}]}})
}

test_success_another_namespace if {
	report == set() with input as json.patch(limited({"pods": "1"}), [runs.set("/objects/6/metadata/namespace", "sea")])
}

# A second replicatedJob, at the same time or afterwards.
chief(spec) := json.patch(limited({"pods": "3"}), array.concat(
	[
		runs.set("/workloads/0/pods/-", object.union(runs.kueue.workloads[0].pods[0], {"replicatedJob": 1, "name": "chief"})),
		runs.set("/workloads/0/jobset/spec/replicatedJobs/-", object.union(runs.kueue.workloads[0].jobset.spec.replicatedJobs[0], {"name": "chief"})),
	],
	[runs.set(sprintf("/workloads/0/jobset/spec/%s", [field]), value) | some field, value in spec],
))

test_fail_together if report == found("4 pods", "3") with input as chief({})

test_success_one_after_the_other if report == set() with input as chief({"startupPolicy": {"startupPolicyOrder": "InOrder"}})

# What the quota counts has to be said.
silent(from) := json.patch(from, [{"op": "remove", "path": sprintf("%s/containers/0/resources/limits/cpu", [runs.pod])}])

test_fail_not_said if {
	some finding in report with input as silent(limited({"limits.cpu": "500"}))
	finding.message == "ResourceQuota share of namespace survey counts limits.cpu, and container node does not say it: no pod is made"
	finding.fix == "Write limits.cpu of the container."
}

test_success_said if {
	report == set() with input as silent(limited({"requests.cpu": "500"}))
	report == set() with input as silent(limited({"limits.memory": "2Ti"}))
}

test_success_filled_in if {
	report == set() with input as json.patch(silent(limited({"limits.cpu": "500"})), [runs.set("/objects/-", {
		"apiVersion": "v1",
		"kind": "LimitRange",
		"metadata": {"name": "defaults", "namespace": "survey"},
		"spec": {"limits": [{"type": "Container", "default": {"cpu": "4"}}]},
	})])
}
