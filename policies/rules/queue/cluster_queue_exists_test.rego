package rules_test.queue.cluster_queue_exists

import data.rules.queue.cluster_queue_exists
import data.rules_test.runs

misspelt := json.patch(runs.kueue, [runs.set("/objects/2/spec/clusterQueue", "surveys")])

test_fail_misspelt if {
	cluster_queue_exists.report == {{
		"object": 2,
		"path": ["spec", "clusterQueue"],
		"message": "ClusterQueue surveys does not exist (there is: survey): nothing in this LocalQueue is ever admitted",
	}} with input as misspelt
}

test_success_exists if cluster_queue_exists.report == set() with input as runs.kueue

test_success_external if {
	cluster_queue_exists.report == set() with input as json.patch(misspelt, [runs.set("/cluster/external/-", {"kind": "ClusterQueue", "namespace": "", "name": "surveys"})])
}
