package rules_test.queue.quota_has_nodes

import data.lib
import data.rules.queue.quota_has_nodes
import data.rules_test.runs

quota := ["spec", "resourceGroups", 0, "flavors", 0, "resources", 2, "nominalQuota"]

gpus(n) := json.patch(runs.kueue, [runs.put("/objects/3/spec/resourceGroups/0/flavors/0/resources/2/nominalQuota", n)])

found(together) := lib.at(3, quota, sprintf("flavor a100 gives out %d nvidia.com/gpu in all, and its nodes in cluster west have 32: runs that are admitted together may each get some of their nodes only", [together]))

test_fail_one_queue if quota_has_nodes.report == {found(40)} with input as gpus(40)

second := runs.set("/objects/-", object.union(runs.kueue.objects[3], {"metadata": {"name": "sea"}}))

test_fail_two_queues if {
	count(quota_has_nodes.report) == 2 with input as json.patch(gpus(20), [second])
}

test_success_two_queues if quota_has_nodes.report == set() with input as json.patch(gpus(16), [second])

test_success_growing if quota_has_nodes.report == set() with input as json.patch(gpus(40), [runs.set("/cluster/nodes/0/maxCount", 5)])

test_fail_other_pool if {
	count(quota_has_nodes.report) == 1 with input as json.patch(gpus(40), [
		runs.set("/cluster/nodes/0/labels", {"gpu": "a100"}),
		runs.set("/cluster/nodes/-", {"pool": "h100", "count": 4, "labels": {"gpu": "h100"}, "allocatable": {"nvidia.com/gpu": "8"}}),
		runs.set("/objects/4/spec", {"nodeLabels": {"gpu": "a100"}}),
	])
}

test_success_topology if quota_has_nodes.report == set() with input as json.patch(gpus(40), [runs.set("/objects/4/spec", {"topologyName": "racks", "nodeLabels": {"a": "b"}})])

test_success_waits if {
	quota_has_nodes.report == set() with input as json.patch(gpus(40), [runs.set("/objects/-", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kueue"}, "data": {"c.yaml": "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nwaitForPodsReady: {timeout: 5m}"}})])
}

test_success_other_clusters if {
	quota_has_nodes.report == set() with input as json.patch(gpus(40), [
		runs.set("/objects/3/spec/admissionChecksStrategy", {"admissionChecks": [{"name": "multi"}]}),
		runs.set("/objects/-", {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "AdmissionCheck", "metadata": {"name": "multi"}, "spec": {"controllerName": "kueue.x-k8s.io/multikueue"}}),
	])
}

test_success_no_nodes if quota_has_nodes.report == set() with input as json.patch(gpus(40), [runs.put("/cluster/nodes", [])])
