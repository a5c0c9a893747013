package rules_test.nodes.gang_fits

import data.lib
import data.rules.nodes.gang_fits
import data.rules_test.runs

five := json.patch(runs.kueue, runs.pods(5))

found(message) := {lib.in_workload({"index": 0}, runs.parallelism, message)}

test_fail_too_many if {
	gang_fits.report == found("5 pods of 80 cpu, 512Gi memory, 8 nvidia.com/gpu each, and the nodes of cluster west have a place for 4 (pool a100: 4 nodes of 96 cpu, 900Gi memory, 8 nvidia.com/gpu): not all pods can run at a time") with input as five
}

# Trainer ignores what the TrainJob asks for: trainer/ancestor-label says so, and what the runtime has is not what was meant.
test_success_no_job_is_the_trainers if {
	gang_fits.report == set() with input as json.patch(five, [runs.set(sprintf("%s/metadata/labels", [runs.job]), {})])
}

small := json.patch(runs.kueue, [runs.set("/cluster/nodes/0/allocatable", {"cpu": "64", "memory": "900Gi", "nvidia.com/gpu": "8"})])

test_fail_pod_too_large if {
	gang_fits.report == found("2 pods of 80 cpu, 512Gi memory, 8 nvidia.com/gpu each, and the nodes of cluster west have a place for 0 (pool a100: 4 nodes of 64 cpu, 900Gi memory, 8 nvidia.com/gpu): not all pods can run at a time") with input as small
}

test_fail_resource_that_no_node_has if {
	gang_fits.report == found("2 pods of 80 cpu, 512Gi memory, 8 nvidia.com/gpu, 1 nvidia.com/hostdev each, and the nodes of cluster west have a place for 0 (pool a100: 4 nodes of 96 cpu, 900Gi memory, 8 nvidia.com/gpu, 0 nvidia.com/hostdev): not all pods can run at a time") with input as json.patch(runs.infiniband, [runs.drop("/cluster/nodes/0/allocatable/nvidia.com~1hostdev")])
}

test_success_fabric_of_another_cluster if {
	gang_fits.report == set() with input as json.patch(runs.kueue, [runs.set("/workloads/0/pods/0/requests/nvidia.com~1hostdev", 1)])
}

# Two replicatedJobs that run at a time.
two := json.patch(runs.jobset(runs.kueue), [
	runs.set("/workloads/0/pods/0/count", 4),
	runs.set("/workloads/0/pods/-", object.union(runs.kueue.workloads[0].pods[0], {"count": 1, "replicatedJob": 1, "name": "chief"})),
	runs.set("/workloads/0/demand/nvidia.com~1gpu", 40),
])

test_fail_together if {
	gang_fits.report == found("all pods together need 40 nvidia.com/gpu, and the nodes of cluster west have 32: not all pods can run at a time") with input as two
}

test_success_one_after_the_other if {
	gang_fits.report == set() with input as json.patch(two, [runs.set("/workloads/0/jobset/spec/replicatedJobs/0/dependsOn", [{"name": "chief", "status": "Complete"}])])
}

test_success_fits if gang_fits.report == set() with input as json.patch(runs.kueue, runs.pods(4))

test_success_second_pool if {
	gang_fits.report == set() with input as json.patch(five, [runs.set("/cluster/nodes/-", {"pool": "h100", "count": 1, "allocatable": {"nvidia.com/gpu": "8"}})])
}

test_success_growing_pool if gang_fits.report == set() with input as json.patch(five, [runs.set("/cluster/nodes/0/maxCount", 5)])

test_success_several_pods_a_node if {
	gang_fits.report == set() with input as json.patch(runs.kueue, [
		runs.set("/workloads/0/pods/0/count", 12),
		runs.set("/workloads/0/pods/0/requests", {"cpu": 20, "nvidia.com/gpu": 2}),
	])
}

test_success_unknown_resource if gang_fits.report == set() with input as json.patch(runs.kueue, [runs.set("/workloads/0/pods/0/requests/ephemeral-storage", 1099511627776)])

test_success_no_nodes_known if gang_fits.report == set() with input as json.patch(five, [runs.set("/cluster/nodes", [])])

# A TrainJob decides how many and how large.
test_success_unused_runtime if gang_fits.report == set() with input as json.patch(five, [runs.set("/workloads/0/kind", "ClusterTrainingRuntime")])

test_success_run_elsewhere if gang_fits.report == set() with input as json.patch(five, [runs.set("/objects/0/spec/managedBy", "kueue.x-k8s.io/multikueue")])

# --- pods that keep one another away from their nodes ---

# Five pods, two of which one of the four nodes could hold.
apart(term) := json.patch(runs.kueue, [
	runs.set("/workloads/0/pods/0/count", 5),
	runs.set("/workloads/0/pods/0/requests", {"nvidia.com/gpu": 4}),
	runs.set(sprintf("%s/metadata/labels", [runs.template]), {"team": "survey", "tier": "gpu"}),
	runs.set(sprintf("%s/affinity", [runs.pod]), {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [object.union({"topologyKey": "kubernetes.io/hostname"}, term)]}}),
])

matching(labels) := {"labelSelector": {"matchLabels": labels}}

of_the_run := matching({"jobset.sigs.k8s.io/jobset-name": "sky"})

test_fail_one_pod_a_node if {
	every term in [
		of_the_run,
		matching({"team": "survey", "jobset.sigs.k8s.io/replicatedjob-name": "node"}),
		{"labelSelector": {"matchExpressions": [{"key": "jobset.sigs.k8s.io/jobset-name", "operator": "Exists"}, {"key": "tier", "operator": "NotIn", "values": ["cpu"]}]}},
		{"labelSelector": {}, "matchLabelKeys": ["team"]},
		object.union(of_the_run, {"namespaces": ["survey", "other"]}),
		object.union(of_the_run, {"namespaceSelector": {}}),
	] {
		gang_fits.report == found("5 pods of 4 nvidia.com/gpu each, and the nodes of cluster west have a place for 4 (pool a100: 4 nodes of 8 nvidia.com/gpu; its podAntiAffinity leaves each of them a node alone): not all pods can run at a time") with input as apart(term)
	}
}

test_success_apart_from_others if {
	every term in [
		matching({"team": "other"}),
		matching({"app": "sky"}),
		{},
		{"labelSelector": {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["gpu"]}]}},
		{"labelSelector": {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}},
		{"labelSelector": {}, "matchLabelKeys": ["batch.kubernetes.io/job-completion-index"]},
		object.union(of_the_run, {"mismatchLabelKeys": ["team"]}),
		object.union(of_the_run, {"namespaces": ["other"]}),
		object.union(of_the_run, {"namespaceSelector": {"matchLabels": {"team": "other"}}}),
		object.union(of_the_run, {"topologyKey": "topology.kubernetes.io/zone"}),
	] {
		gang_fits.report == set() with input as apart(term)
	}
}

test_success_apart_and_enough_nodes if gang_fits.report == set() with input as json.patch(apart(of_the_run), [runs.set("/workloads/0/pods/0/count", 4)])
