package rules_test.queue.gang_starts_together

import data.lib
import data.rules.queue.gang_starts_together.report
import data.rules_test.runs

jobs := "/workloads/0/jobset/spec/replicatedJobs"

# Another Job before the workers'.
with_first(document) := json.patch(document, [{
	"op": "add",
	"path": sprintf("%s/0", [jobs]),
	"value": {"name": "fetch", "replicas": 1, "template": {"spec": {}}},
}])

waits(document) := json.patch(with_first(document), [runs.set(sprintf("%s/1/dependsOn", [jobs]), [{"name": "fetch", "status": "Ready"}])])

in_order(document) := json.patch(with_first(document), [runs.set("/workloads/0/jobset/spec/startupPolicy", {"startupPolicyOrder": "InOrder"})])

coscheduled(document) := json.patch(document, [runs.set("/workloads/0/podGroupPolicy", {"coscheduling": {}})])

test_fail_depends if {
	message := "the Job node waits for fetch, whose pods wait in the PodGroup for its own: none is ever scheduled"
	every document in [waits(runs.volcano), coscheduled(waits(runs.volcano))] {
		report == {lib.in_workload({"index": 0}, ["spec", "replicatedJobs", 1, "dependsOn"], message)} with input as document
	}
}

test_fail_in_order if {
	message := "the Jobs start one after another, and the pods of fetch wait in the PodGroup for those of all: none is ever scheduled"
	report == {lib.in_workload({"index": 0}, ["spec", "startupPolicy", "startupPolicyOrder"], message)} with input as in_order(runs.volcano)
}

test_fail_replicas if {
	message := "the Job fetch has 3 replicas, of which Trainer's PodGroup counts one: a part of the pods can start alone and hold what it has"
	report == {object.union(
		lib.in_workload({"index": 0}, ["spec", "replicatedJobs", 0, "replicas"], message),
		{"fix": "Write parallelism and completions instead of replicas."},
	)} with input as json.patch(with_first(runs.volcano), [runs.put(sprintf("%s/0/replicas", [jobs]), 3)])
}

test_success_all_at_once if {
	report == set() with input as runs.volcano
	report == set() with input as with_first(runs.volcano)
}

test_success_kueue if {
	report == set() with input as waits(runs.kueue)
	report == set() with input as in_order(runs.kueue)
}
