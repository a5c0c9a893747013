package rules_test.queue.local_queue_exists

import data.rules.queue.local_queue_exists
import data.rules_test.runs

found(message) := {{"object": 0, "path": ["metadata", "labels", "kueue.x-k8s.io/queue-name"], "message": message}}

misspelt := "LocalQueue dya does not exist in namespace survey (it has: day): the run is never admitted"

test_fail_misspelt if local_queue_exists.report == found(misspelt) with input as json.patch(runs.kueue, [runs.set(runs.queue_label, "dya")])

test_fail_jobset if local_queue_exists.report == found(misspelt) with input as json.patch(runs.jobset(runs.kueue), [runs.set(runs.queue_label, "dya")])

test_fail_other_namespace if {
	local_queue_exists.report == found("LocalQueue day does not exist in namespace survey but in other, where this run cannot use it: it is never admitted") with input as json.patch(runs.kueue, [runs.set("/objects/2/metadata/namespace", "other")])
}

test_success_exists if local_queue_exists.report == set() with input as runs.kueue

test_success_external if {
	local_queue_exists.report == set() with input as json.patch(runs.kueue, [
		runs.set(runs.queue_label, "night"),
		runs.set("/cluster/external/-", {"kind": "LocalQueue", "namespace": "survey", "name": "night"}),
	])
}
