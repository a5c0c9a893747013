package rules_test.jobset.worker_names

import data.rules.jobset.worker_names.report
import data.rules_test.fixture

on_host(document) := fixture.with_pod(document, "hostNetwork", true)

under_tfrun(document) := fixture.with_container(document, "command", ["python3", "/code/tfrun.py", "--", "python3", "train.py"])

dns(policy) := object.union(
	fixture.in_workload(
		fixture.pod_path(["dnsPolicy"]),
		sprintf("with hostNetwork and dnsPolicy %s the workers ask the node's DNS, which does not know one another's names", [policy]),
	),
	{"fix": "Leave hostNetwork out, or write `dnsPolicy: ClusterFirstWithHostNet`."},
)

test_fail_host_network if {
	report == {dns("ClusterFirst")} with input as on_host(fixture.trainjob)
	report == {dns("Default")} with input as fixture.with_pod(on_host(fixture.trainjob), "dnsPolicy", "Default")
}

test_fail_default if {
	report == {fixture.in_workload(
		fixture.pod_path(["dnsPolicy"]),
		"with dnsPolicy Default the workers ask the node's DNS, which does not know one another's names",
	)} with input as fixture.with_pod(fixture.trainjob, "dnsPolicy", "Default")
}

test_fail_tfrun_on_host if {
	every policy in ["ClusterFirst", "ClusterFirstWithHostNet"] {
		report == {object.union(
			fixture.in_workload(
				fixture.pod_path(["hostNetwork"]),
				"with hostNetwork a worker has its node's name, from which tfrun cannot tell which worker it is: every worker ends",
			),
			{"fix": "Leave hostNetwork and dnsPolicy out."},
		)} with input as fixture.with_pod(on_host(under_tfrun(fixture.trainjob)), "dnsPolicy", policy)
	}
}

named(name) := json.patch(under_tfrun(fixture.trainjob), [
	{"op": "replace", "path": "/workloads/0/jobset/spec/replicatedJobs/0/name", "value": name},
	{"op": "replace", "path": "/workloads/0/pods/0/name", "value": name},
])

test_fail_name if {
	report == {fixture.in_workload(
		["spec", "replicatedJobs", 0, "name"],
		"the replicatedJob is called worker, and tfrun reads a worker's index from a name …-node-0-INDEX: every worker ends",
	)} with input as named("worker")
}

# The trainer's Job has the name that tfrun looks for; the one beside it cannot have it, too.
test_fail_beside_the_trainer if {
	document := json.patch(fixture.trainjob, [
		{"op": "add", "path": "/workloads/0/jobset/spec/replicatedJobs/-", "value": fixture.job("chief", 1)},
		{"op": "add", "path": "/workloads/0/pods/-", "value": fixture.pods("chief", 1, 1)},
		{"op": "add", "path": "/workloads/0/jobset/spec/replicatedJobs/1/template/spec/template/spec/containers/0/command", "value": ["tfrun", "python3", "chief.py"]},
	])
	report == {object.union(
		fixture.in_workload(
			["spec", "replicatedJobs", 1, "name"],
			"the replicatedJob is called chief, and tfrun reads a worker's index from a name …-node-0-INDEX: every worker ends",
		),
		{"fix": "Make its pods workers of the replicatedJob `node`, or write TF_NUM_WORKERS=1 where each trains alone."},
	)} with input as document
}

test_success if {
	report == set() with input as under_tfrun(fixture.trainjob)
	report == set() with input as named("gpu-node")
	report == set() with input as fixture.with_pod(on_host(fixture.trainjob), "dnsPolicy", "ClusterFirstWithHostNet")
	report == set() with input as fixture.with_pod(fixture.trainjob, "dnsPolicy", "None") # with nameservers of its own
}

test_success_no_gang if {
	every document in [fixture.single, fixture.torch] { report == set() with input as on_host(document) }
}
