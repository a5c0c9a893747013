package rules_test.queue.within_quota

import data.lib
import data.rules.queue.within_quota
import data.rules_test.runs

found(message) := {lib.in_workload({"index": 0}, runs.parallelism, message)}

gpu := "/objects/3/spec/resourceGroups/0/flavors/0/resources/2"

four := json.patch(runs.kueue, runs.pods(4))

over := found("4 pods need 320 cpu, 2048Gi memory, 32 nvidia.com/gpu, more than ClusterQueue survey can ever give (flavor a100: at most 200 cpu, 1024Gi memory, 16 nvidia.com/gpu): the run is never admitted")

test_fail_nodes if within_quota.report == over with input as four

test_fail_jobset if within_quota.report == over with input as runs.jobset(four)

test_fail_old_version if within_quota.report == over with input as json.patch(four, [runs.set("/objects/3/apiVersion", "kueue.x-k8s.io/v1beta1")])

eight := found("2 pods need 16 nvidia.com/gpu, more than ClusterQueue survey can ever give (flavor a100: at most 8 nvidia.com/gpu): the run is never admitted")

less := json.patch(runs.kueue, [runs.set(sprintf("%s/nominalQuota", [gpu]), 8)])

test_fail_quota if within_quota.report == eight with input as less

# One replicatedJob cannot be split over flavors, together they would have enough.
flavor(name, gpus) := {"name": name, "resources": [
	{"name": "cpu", "nominalQuota": "200"},
	{"name": "memory", "nominalQuota": "1Ti"},
	{"name": "nvidia.com/gpu", "nominalQuota": gpus},
]}

two_flavors := json.patch(runs.kueue, [runs.set("/objects/3/spec/resourceGroups/0/flavors", [flavor("a100", 8), flavor("h100", 8)])])

test_fail_two_flavors if {
	within_quota.report == found("2 pods need 16 nvidia.com/gpu, more than ClusterQueue survey can ever give (flavor a100: at most 8 nvidia.com/gpu; flavor h100: at most 8 nvidia.com/gpu): the run is never admitted") with input as two_flavors
}

# Two replicatedJobs, each for a flavor of its own.
two_jobs(from) := json.patch(runs.jobset(from), [
	runs.set("/workloads/0/pods/0/count", 1),
	runs.set("/workloads/0/pods/-", object.union(runs.kueue.workloads[0].pods[0], {"count": 1, "replicatedJob": 1, "name": "chief"})),
])

test_success_two_jobs_two_flavors if within_quota.report == set() with input as two_jobs(two_flavors)

test_fail_two_jobs_together if {
	within_quota.report == found("all pods together need 16 nvidia.com/gpu, and ClusterQueue survey can give at most 8: the run is never admitted") with input as two_jobs(less)
}

test_fail_pods if {
	within_quota.report == found("2 pods need 2 pods, more than ClusterQueue survey can ever give (flavor a100: at most 1 pods): the run is never admitted") with input as json.patch(runs.kueue, [
		runs.set("/objects/3/spec/resourceGroups/0/coveredResources/-", "pods"),
		runs.set("/objects/3/spec/resourceGroups/0/flavors/0/resources/-", {"name": "pods", "nominalQuota": 1}),
	])
}

# A cohort: what the others lend counts, up to the borrowing limit.
cohort(field, own, other) := json.patch(runs.kueue, [
	runs.set(sprintf("/objects/3/spec/%s", [field]), "all"),
	runs.put(gpu, object.union({"name": "nvidia.com/gpu", "nominalQuota": 8}, own)),
	runs.set("/objects/-", {
		"apiVersion": "kueue.x-k8s.io/v1beta2",
		"kind": "ClusterQueue",
		"metadata": {"name": "sea"},
		"spec": {field: "all", "resourceGroups": [{"coveredResources": ["nvidia.com/gpu"], "flavors": [{
			"name": "a100",
			"resources": [object.union({"name": "nvidia.com/gpu", "nominalQuota": 8}, other)],
		}]}]},
	}),
])

test_success_borrowing if {
	within_quota.report == set() with input as cohort("cohortName", {}, {})
	within_quota.report == set() with input as cohort("cohort", {"borrowingLimit": 8}, {"lendingLimit": 8})
}

test_fail_borrowing_limit if {
	within_quota.report == found("2 pods need 16 nvidia.com/gpu, more than ClusterQueue survey can ever give (flavor a100: at most 12 nvidia.com/gpu): the run is never admitted") with input as cohort("cohortName", {"borrowingLimit": 4}, {})
}

test_fail_lending_limit if {
	within_quota.report == found("2 pods need 16 nvidia.com/gpu, more than ClusterQueue survey can ever give (flavor a100: at most 10 nvidia.com/gpu): the run is never admitted") with input as cohort("cohortName", {}, {"lendingLimit": 2})
}

alone(limit) := json.patch(less, [runs.set("/objects/3/spec/cohortName", "all"), runs.set(sprintf("%s/borrowingLimit", [gpu]), limit)])

# The limit says that the cohort has other members.
test_fail_alone_in_its_cohort_only_warns if {
	within_quota.report == {object.union(lib.in_workload({"index": 0}, runs.parallelism, "2 pods need 16 nvidia.com/gpu, more than ClusterQueue survey has of its own, and no other member of cohort all is known that could lend it"), {"severity": "warning"})} with input as alone(8)
}

test_fail_alone_in_its_cohort_above_the_limit if {
	within_quota.report == found("2 pods need 16 nvidia.com/gpu, more than ClusterQueue survey can ever give (flavor a100: at most 12 nvidia.com/gpu): the run is never admitted") with input as alone(4)
}

test_fail_alone_in_its_cohort_without_limit if within_quota.report == eight with input as json.patch(less, [runs.set("/objects/3/spec/cohortName", "all")])

test_success_cohort_members_outside if {
	within_quota.report == set() with input as json.patch(less, [
		runs.set("/objects/3/spec/cohortName", "all"),
		runs.set("/cluster/external/-", {"kind": "ClusterQueue", "namespace": "", "name": "sea"}),
	])
}

test_success_quota_of_the_cohort if {
	within_quota.report == set() with input as json.patch(less, [runs.set("/objects/3/spec/cohortName", "all"), runs.set("/objects/-", {
		"apiVersion": "kueue.x-k8s.io/v1beta2",
		"kind": "Cohort",
		"metadata": {"name": "all"},
		"spec": {"resourceGroups": [{"coveredResources": ["nvidia.com/gpu"], "flavors": [{
			"name": "a100",
			"resources": [{"name": "nvidia.com/gpu", "nominalQuota": 8}],
		}]}]},
	})])
}

# A tree of cohorts: everything counts.
test_success_parent_cohort if {
	within_quota.report == set() with input as json.patch(cohort("cohortName", {}, {}), [
		runs.set("/objects/3/spec/cohortName", "child"),
		runs.set("/objects/-", {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Cohort", "metadata": {"name": "child"}, "spec": {"parentName": "all"}}),
	])
}

test_success_exactly if within_quota.report == set() with input as runs.kueue

# Amounts that binary fractions cannot hold.
test_success_fractions if {
	within_quota.report == set() with input as json.patch(runs.kueue, [
		runs.set("/workloads/0/pods/0/count", 3),
		runs.set("/workloads/0/pods/0/requests", {"cpu": 1.1}),
		runs.set("/objects/3/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota", "3300m"),
	])
}

# What another tree has is not lent to this one.
tree(names) := json.patch(less, array.concat(
	[
		runs.set("/objects/3/spec/cohortName", "west"),
		runs.set("/objects/-", {
			"apiVersion": "kueue.x-k8s.io/v1beta2",
			"kind": "ClusterQueue",
			"metadata": {"name": "sea"},
			"spec": {"cohortName": "east", "resourceGroups": [{"coveredResources": ["nvidia.com/gpu"], "flavors": [{
				"name": "a100",
				"resources": [{"name": "nvidia.com/gpu", "nominalQuota": 8}],
			}]}]},
		}),
	],
	[runs.set("/objects/-", {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Cohort", "metadata": {"name": name}, "spec": {"parentName": above}}) | some name, above in names],
))

test_success_lent_through_the_tree if {
	within_quota.report == set() with input as tree({"west": "all", "east": "all"})
	within_quota.report == set() with input as tree({"west": "all", "all": "world", "east": "world"})
}

test_fail_another_tree if {
	within_quota.report == eight with input as tree({"west": "all", "east": "others"})
}

# Limits of a cohort within another: `sea` has 8 in the cohort east, the run's queue its 8 in west.
limited(cohort, limits) := json.patch(tree({"west": "all", "east": "all"}), [runs.set("/objects/-", {
	"apiVersion": "kueue.x-k8s.io/v1beta2",
	"kind": "Cohort",
	"metadata": {"name": cohort},
	"spec": {"parentName": "all", "resourceGroups": [{"coveredResources": ["nvidia.com/gpu"], "flavors": [{
		"name": "a100",
		"resources": [object.union({"name": "nvidia.com/gpu", "nominalQuota": 0}, limits)],
	}]}]},
})])

twelve := found("2 pods need 16 nvidia.com/gpu, more than ClusterQueue survey can ever give (flavor a100: at most 12 nvidia.com/gpu): the run is never admitted")

test_fail_the_cohort_above_borrows_less if within_quota.report == twelve with input as limited("west", {"borrowingLimit": 4})

test_fail_the_others_cohort_lends_less if within_quota.report == twelve with input as limited("east", {"lendingLimit": 4})

test_success_limits_that_do_not_bind if {
	within_quota.report == set() with input as limited("west", {"borrowingLimit": 8})
	within_quota.report == set() with input as limited("west", {"lendingLimit": 0})
	within_quota.report == set() with input as limited("east", {"lendingLimit": 8})
	within_quota.report == set() with input as limited("east", {"borrowingLimit": 0})
}
