package rules_test.queue.not_stopped

import data.lib
import data.rules.queue.not_stopped
import data.rules_test.runs

found(title, policy) := {lib.at(0, ["metadata", "labels", "kueue.x-k8s.io/queue-name"], sprintf("%s is stopped (stopPolicy: %s): the run waits until that is changed", [title, policy]))}

stopped(object, policy) := json.patch(runs.kueue, [runs.set(sprintf("/objects/%d/spec/stopPolicy", [object]), policy)])

test_fail_local_queue if not_stopped.report == found("LocalQueue/survey/day", "Hold") with input as stopped(2, "Hold")

test_fail_cluster_queue if not_stopped.report == found("ClusterQueue/survey", "HoldAndDrain") with input as stopped(3, "HoldAndDrain")

test_success_open if not_stopped.report == set() with input as stopped(3, "None")

test_success_another_queue if {
	not_stopped.report == set() with input as json.patch(stopped(3, "Hold"), [runs.put("/objects/3/metadata/name", "other")])
}
