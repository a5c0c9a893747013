package rules_test.pods.shared_claim

import data.rules.pods.shared_claim.report
import data.rules_test.fixture

claim := {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "birds", "namespace": "team"}}

volume := {"name": "data", "persistentVolumeClaim": {"claimName": "birds"}}

# The fixture's run (object 0) whose pods use a claim, the last object.
using(document, spec) := json.patch(fixture.with_pod(document, "volumes", [volume]), [
	{"op": "add", "path": "/objects/-", "value": object.union(claim, {"spec": spec})},
	{"op": "add", "path": "/members/-", "value": true},
])

# Of one leader and three workers.
jobset := fixture.set(fixture.jobset, "/objects/0", "spec", {})

once_pod := {"accessModes": ["ReadWriteOncePod"]}

once := {"accessModes": ["ReadWriteOnce"]}

pending(pods, name) := sprintf("claim birds is ReadWriteOncePod, and %d pods of %s use it: one starts, the others stay Pending", [pods, name])

elsewhere(pods, name) := sprintf("claim birds is ReadWriteOnce, and %d pods of %s use it: those on another node than the first may not get it", [pods, name])

test_fail_one_pod if {
	report == {fixture.at(3, ["spec", "accessModes"], pending(2, "TrainJob run-1"))} with input as using(fixture.trainjob, once_pod)
}

test_fail_any_framework if {
	report == {fixture.at(3, ["spec", "accessModes"], pending(2, "TrainJob run-1"))} with input as using(fixture.torch, once_pod)
}

# A claim of the cluster that is not part of what is judged.
test_fail_claim_beside if {
	found := {fixture.in_workload(fixture.pod_path(["volumes", 0, "persistentVolumeClaim", "claimName"]), pending(2, "TrainJob run-1"))}
	report == found with input as fixture.set(using(fixture.trainjob, once_pod), "/members", "3", false)
}

test_fail_one_node if {
	found := {object.union(fixture.at(3, ["spec", "accessModes"], elsewhere(2, "TrainJob run-1")), {"severity": "warning"})}
	report == found with input as using(fixture.trainjob, once)
}

# A leader and three workers, all with the claim that JobSet makes.
test_fail_claim_of_the_jobset if {
	template := {"metadata": {"name": "birds"}, "spec": once_pod}
	jobs := "/workloads/0/jobset/spec/replicatedJobs"
	mounts := [{"op": "add", "path": sprintf("%s/%d/template/spec/template/spec/containers/0/volumeMounts", [jobs, n]), "value": [{"name": "birds"}]} | some n in [0, 1]]
	path := ["spec", "volumeClaimPolicies", 0, "templates", 0, "spec", "accessModes"]
	report == {fixture.in_workload(path, pending(4, "JobSet set-1"))} with input as json.patch(
		fixture.with_spec(jobset, "volumeClaimPolicies", [{"templates": [template]}]),
		mounts,
	)
}

test_success_many if report == set() with input as using(fixture.trainjob, {"accessModes": ["ReadWriteMany"]})

test_success_many_as_well if report == set() with input as using(fixture.trainjob, {"accessModes": ["ReadWriteOnce", "ReadWriteMany"]})

test_success_one_worker if {
	report == set() with input as using(fixture.single, once_pod)
	report == set() with input as using(fixture.single, once)
}

# The leader alone has it.
test_success_one_of_four if report == set() with input as using(jobset, once_pod)

test_success_of_another_namespace if {
	report == set() with input as fixture.set(using(fixture.trainjob, once_pod), "/objects/3/metadata", "namespace", "other")
}

test_success_unknown_claim if report == set() with input as fixture.with_pod(fixture.trainjob, "volumes", [volume])

# What volume it is, is known to whoever named it.
test_success_given_volume if report == set() with input as using(fixture.trainjob, object.union(once, {"volumeName": "nfs"}))

test_success_one_node if {
	one := [{"pool": "p", "count": 1, "allocatable": {}}]
	report == set() with input as fixture.set(using(fixture.trainjob, once), "/cluster", "nodes", one)
}

test_fail_several_nodes if {
	grows := [{"pool": "p", "count": 1, "maxCount": 2, "allocatable": {}}]
	count(report) == 1 with input as fixture.set(using(fixture.trainjob, once), "/cluster", "nodes", grows)
}

test_success_held_on_one_node if {
	beside := {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname"}]}}
	every field, value in {"nodeName": "n1", "nodeSelector": {"kubernetes.io/hostname": "n1"}, "affinity": beside} {
		report == set() with input as fixture.with_pod(using(fixture.trainjob, once), field, value)
	}
}

# The first is over when the others come.
test_success_one_after_the_other if {
	template := {"metadata": {"name": "birds"}, "spec": once_pod}
	jobs := "/workloads/0/jobset/spec/replicatedJobs"
	mounts := [{"op": "add", "path": sprintf("%s/%d/template/spec/template/spec/containers/0/volumeMounts", [jobs, n]), "value": [{"name": "birds"}]} | some n in [0, 1]]
	report == set() with input as json.patch(
		fixture.with_spec(jobset, "volumeClaimPolicies", [{"templates": [template]}]),
		array.concat(mounts, [
			{"op": "add", "path": "/workloads/0/pods/1/count", "value": 1},
			{"op": "add", "path": sprintf("%s/1/dependsOn", [jobs]), "value": [{"name": "leader", "status": "Complete"}]},
		]),
	)
}
