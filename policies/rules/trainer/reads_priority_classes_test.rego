package rules_test.trainer.reads_priority_classes

import data.lib
import data.rules.trainer.reads_priority_classes
import data.rules_test.runs

pod := ["spec", "replicatedJobs", 0, "template", "spec", "template", "spec"]

with_class(from, name) := json.patch(from, [runs.set(sprintf("/workloads/0/jobset/%s/priorityClassName", [concat("/", [format(part) | some part in pod])]), name)])

format(part) := sprintf("%v", [part])

urgent := json.patch(with_class(runs.volcano, "urgent"), [runs.set("/versions", {"trainer": "2.3.0"})])

granting(subject, verbs) := json.patch(urgent, [
	runs.set("/objects/-", {
		"apiVersion": "rbac.authorization.k8s.io/v1",
		"kind": "ClusterRole",
		"metadata": {"name": "priorities"},
		"rules": [{"apiGroups": ["scheduling.k8s.io"], "resources": ["priorityclasses"], "verbs": verbs}],
	}),
	runs.set("/objects/-", {
		"apiVersion": "rbac.authorization.k8s.io/v1",
		"kind": "ClusterRoleBinding",
		"metadata": {"name": "priorities"},
		"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "priorities"},
		"subjects": [subject],
	}),
])

account := {"kind": "ServiceAccount", "name": "kubeflow-trainer-controller-manager", "namespace": "kubeflow-system"}

reading := ["get", "list", "watch"]

found := {lib.in_workload(urgent.workloads[0], array.concat(pod, ["priorityClassName"]), "Trainer looks up PriorityClass urgent, and nothing here lets it read PriorityClasses: its webhook does not answer in time, and no run can be made")}

test_fail_nothing_granted if reads_priority_classes.report == found with input as urgent

test_fail_some_verbs if reads_priority_classes.report == found with input as granting(account, ["get"])

test_fail_somebody_else if reads_priority_classes.report == found with input as granting({"kind": "User", "name": "kubeflow-trainer"}, reading)

test_success_granted if reads_priority_classes.report == set() with input as granting(account, reading)

test_success_everything_granted if reads_priority_classes.report == set() with input as granting(account, ["*"])

test_success_granted_to_all if reads_priority_classes.report == set() with input as granting({"kind": "Group", "name": "system:serviceaccounts"}, reading)

test_success_unknown_role if {
	unknown := json.patch(granting(account, []), [runs.put("/objects/7/roleRef/name", "cluster-admin")])
	reads_priority_classes.report == set() with input as unknown
}

test_success_granted_elsewhere if {
	outside := json.patch(urgent, [runs.set("/cluster/external/-", {"kind": "ClusterRoleBinding", "namespace": "", "name": "priorities"})])
	reads_priority_classes.report == set() with input as outside
}

test_success_built_in if reads_priority_classes.report == set() with input as with_class(urgent, "system-node-critical")

test_success_without_class if reads_priority_classes.report == set() with input as with_class(urgent, "")

test_success_without_gang if {
	alone := json.patch(urgent, [runs.put("/workloads/0/podGroupPolicy", {"volcano": null})])
	reads_priority_classes.report == set() with input as alone
}

test_success_later_trainer if {
	later := json.patch(urgent, [runs.put("/versions/trainer", "2.4.0")])
	reads_priority_classes.report == set() with input as later
}
