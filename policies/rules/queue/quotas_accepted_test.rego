package rules_test.queue.quotas_accepted

import data.lib
import data.rules.queue.quotas_accepted
import data.rules_test.runs

groups := ["spec", "resourceGroups"]

resource := ["spec", "resourceGroups", 0, "flavors", 0, "resources"]

found(i, path, message) := {lib.at(i, path, message)}

test_fail_resource_twice if {
	quotas_accepted.report == found(3, array.concat(groups, [1, "coveredResources", 0]), "cpu is in coveredResources twice") with input as json.patch(runs.kueue, [runs.set("/objects/3/spec/resourceGroups/-", {"coveredResources": ["cpu"], "flavors": [{"name": "other", "resources": [{"name": "cpu", "nominalQuota": 1}]}]})])
}

test_fail_flavor_twice if {
	quotas_accepted.report == found(3, array.concat(groups, [1, "flavors", 0, "name"]), "flavor a100 is listed twice") with input as json.patch(runs.kueue, [runs.set("/objects/3/spec/resourceGroups/-", {"coveredResources": ["pods"], "flavors": [{"name": "a100", "resources": [{"name": "pods", "nominalQuota": 1}]}]})])
}

test_fail_order if {
	quotas_accepted.report == {
		lib.at(3, array.concat(resource, [0, "name"]), "flavor a100 has cpu where coveredResources has memory"),
		lib.at(3, array.concat(resource, [1, "name"]), "flavor a100 has memory where coveredResources has cpu"),
	} with input as json.patch(runs.kueue, [runs.put("/objects/3/spec/resourceGroups/0/coveredResources", ["memory", "cpu", "nvidia.com/gpu"])])
}

gpu(given) := json.patch(runs.kueue, [
	runs.put("/objects/3/spec/resourceGroups/0/flavors/0/resources/2", object.union({"name": "nvidia.com/gpu", "nominalQuota": 16}, given)),
	runs.set("/objects/3/spec/cohortName", "all"),
])

test_fail_lends_more_than_it_has if {
	quotas_accepted.report == found(3, array.concat(resource, [2, "lendingLimit"]), "lendingLimit 17 is more than the nominalQuota 16") with input as gpu({"lendingLimit": 17})
}

test_fail_lends_to_nobody if {
	quotas_accepted.report == found(3, array.concat(resource, [2, "lendingLimit"]), "lendingLimit without a cohort to lend to") with input as json.patch(gpu({"lendingLimit": 8}), [runs.drop("/objects/3/spec/cohortName")])
}

cohort(spec) := json.patch(gpu({}), [runs.set("/objects/-", {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Cohort", "metadata": {"name": "all"}, "spec": object.union(spec, {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "a100", "resources": [{"name": "cpu", "nominalQuota": 0, "lendingLimit": 4}]}]}]})})])

test_fail_root_cohort_lends if {
	quotas_accepted.report == found(6, array.concat(resource, [0, "lendingLimit"]), "lendingLimit of a Cohort without a parent") with input as cohort({})
}

# A Cohort lends what is below it.
test_success_cohort if quotas_accepted.report == set() with input as cohort({"parentName": "world"})

test_success_lends if quotas_accepted.report == set() with input as gpu({"lendingLimit": 16, "borrowingLimit": 100})

test_success_plain if quotas_accepted.report == set() with input as runs.kueue
