package rules_test.queue.volcano_queue_exists

import data.rules.queue.volcano_queue_exists
import data.rules_test.runs

annotation := "scheduling.volcano.sh/queue-name"

naming(queue) := json.patch(runs.volcano, [runs.set("/workloads/0/jobset/metadata/annotations", {annotation: queue})])

message := "Volcano Queue surveys does not exist (there is: survey): the PodGroup is refused and no pod starts"

test_fail_misspelt if {
	volcano_queue_exists.report == {{"workload": 0, "path": ["metadata", "annotations", annotation], "message": message}} with input as naming("surveys")
}

pods(queue) := json.patch(runs.jobset(runs.volcano), [runs.set(sprintf("%s/metadata/annotations", [runs.template]), {annotation: queue})])

test_fail_jobset if {
	volcano_queue_exists.report == {{
		"workload": 0,
		"path": array.concat(runs.template_path, ["metadata", "annotations", annotation]),
		"message": message,
	}} with input as pods("surveys")
}

group(queue) := json.patch(runs.volcano, [{"op": "add", "path": "/objects/-", "value": {
	"apiVersion": "scheduling.volcano.sh/v1beta1",
	"kind": "PodGroup",
	"metadata": {"name": "gang", "namespace": "training"},
	"spec": {"queue": queue},
}}])

test_fail_pod_group if {
	some fault in volcano_queue_exists.report with input as group("surveys")
	fault.path == ["spec", "queue"]
	fault.message == message
}

test_success_pod_group if volcano_queue_exists.report == set() with input as group("survey")

test_success_exists if volcano_queue_exists.report == set() with input as runs.volcano

test_success_jobset if volcano_queue_exists.report == set() with input as pods("survey")

test_success_default if volcano_queue_exists.report == set() with input as naming("default")

test_success_external if {
	volcano_queue_exists.report == set() with input as json.patch(naming("surveys"), [runs.set("/cluster/external/-", {"kind": "Queue", "namespace": "", "name": "surveys"})])
}
