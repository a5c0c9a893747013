package rules_test.queue.volcano_scheduler_name

import data.lib
import data.rules.queue.volcano_scheduler_name
import data.rules_test.runs

scheduler := sprintf("%s/schedulerName", [runs.pod])

found(message) := {lib.in_workload({"index": 0}, array.concat(runs.pod_path, ["schedulerName"]), message)}

absent := found("podGroupPolicy.volcano without schedulerName: the pods go to default-scheduler, which knows no gang and starts them one by one")

test_fail_absent if volcano_scheduler_name.report == absent with input as json.patch(runs.volcano, [runs.drop(scheduler)])

test_fail_unused_runtime if {
	volcano_scheduler_name.report == absent with input as json.patch(runs.volcano, [
		runs.drop(scheduler),
		runs.set("/workloads/0/kind", "TrainingRuntime"),
		runs.set("/workloads/0/object", 1),
	])
}

test_fail_misspelt if {
	volcano_scheduler_name.report == found("podGroupPolicy.volcano and schedulerName vocalno: only volcano knows the PodGroup, the pods start one by one or never") with input as json.patch(runs.volcano, [runs.set(scheduler, "vocalno")])
}

alone(severity) := {object.union(finding, {"severity": severity}) |
	some finding in found("schedulerName is volcano without podGroupPolicy.volcano: Volcano makes a PodGroup with minMember 1 for each Job, the pods are scheduled one by one")
}

loose := json.patch(runs.volcano, [runs.set("/workloads/0/podGroupPolicy", {})])

test_fail_no_pod_group if volcano_scheduler_name.report == alone("error") with input as loose

test_fail_one_pod if volcano_scheduler_name.report == alone("warning") with input as json.patch(loose, [runs.set("/workloads/0/pods/0/count", 1)])

test_fail_jobset if volcano_scheduler_name.report == alone("warning") with input as runs.jobset(loose)

test_success_gang if volcano_scheduler_name.report == set() with input as runs.volcano

test_success_kueue if volcano_scheduler_name.report == set() with input as runs.kueue

test_success_pod_group_by_hand if {
	volcano_scheduler_name.report == set() with input as json.patch(runs.jobset(loose), [runs.set(sprintf("%s/metadata/annotations/scheduling.k8s.io~1group-name", [runs.template]), "sky")])
}
