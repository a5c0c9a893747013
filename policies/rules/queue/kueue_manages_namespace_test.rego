package rules_test.queue.kueue_manages_namespace

import data.lib
import data.rules.queue.kueue_manages_namespace
import data.rules_test.runs

configured(text) := json.patch(runs.kueue, [runs.set("/objects/-", {
	"apiVersion": "v1",
	"kind": "ConfigMap",
	"metadata": {"name": "kueue-manager-config"},
	"data": {"c.yaml": sprintf("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n%s", [text])},
})])

selecting(value) := sprintf("managedJobsNamespaceSelector: {matchLabels: {team: %s}}", [value])

test_fail_label if {
	kueue_manages_namespace.report == {lib.at(6, ["data", "c.yaml", "managedJobsNamespaceSelector"], "managedJobsNamespaceSelector does not select namespace survey (team must be sea): runs with a queue label stay suspended there without a Workload")} with input as configured(selecting("sea"))
}

test_fail_excluded if {
	count(kueue_manages_namespace.report) == 1 with input as configured("managedJobsNamespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [survey]}]}")
}

test_success_selected if kueue_manages_namespace.report == set() with input as configured(selecting("sky"))

test_success_default if kueue_manages_namespace.report == set() with input as configured("")

test_success_gate_off if {
	kueue_manages_namespace.report == set() with input as configured(sprintf("%s\nfeatureGates: {ManagedJobsNamespaceSelectorAlwaysRespected: false}", [selecting("sea")]))
}

test_success_namespace_not_in_the_input if {
	kueue_manages_namespace.report == set() with input as json.patch(configured(selecting("sea")), [runs.put("/objects/5/metadata/name", "other")])
}
