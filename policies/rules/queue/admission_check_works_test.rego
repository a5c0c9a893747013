package rules_test.queue.admission_check_works

import data.lib
import data.rules.queue.admission_check_works
import data.rules_test.runs

check(spec) := runs.set("/objects/-", {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "AdmissionCheck", "metadata": {"name": "nodes"}, "spec": spec})

provisioning := {"controllerName": "kueue.x-k8s.io/provisioning-request"}

parameters(kind, name) := {"parameters": {"apiGroup": "kueue.x-k8s.io", "kind": kind, "name": name}}

config := runs.set("/objects/-", {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ProvisioningRequestConfig", "metadata": {"name": "fast"}, "spec": {}})

found(path, message) := {lib.at(6, path, message)}

test_fail_no_parameters if {
	admission_check_works.report == found(["spec", "parameters"], "kueue.x-k8s.io/provisioning-request needs parameters of kind ProvisioningRequestConfig: without them the check is inactive, and every ClusterQueue that has it") with input as json.patch(runs.kueue, [check(provisioning)])
}

test_fail_missing if {
	admission_check_works.report == found(["spec", "parameters", "name"], "ProvisioningRequestConfig slow does not exist (there is: fast): the check is inactive, and every ClusterQueue that has it") with input as json.patch(runs.kueue, [check(object.union(provisioning, parameters("ProvisioningRequestConfig", "slow"))), config])
}

test_fail_kind if {
	admission_check_works.report == found(["spec", "parameters", "kind"], "kueue.x-k8s.io/provisioning-request takes parameters of kind ProvisioningRequestConfig, not MultiKueueConfig: the check is inactive, and every ClusterQueue that has it") with input as json.patch(runs.kueue, [check(object.union(provisioning, parameters("MultiKueueConfig", "fast")))])
}

flavors(names) := json.patch(runs.kueue, [runs.set("/objects/3/spec/admissionChecksStrategy", {"admissionChecks": [{"name": "nodes", "onFlavors": names}]})])

on_flavors(severity, missing) := {object.union(
	lib.at(3, ["spec", "admissionChecksStrategy", "admissionChecks", 0, "onFlavors"], sprintf("ClusterQueue survey has no flavor %s (it has: a100): runs are not held for check nodes there", [missing])),
	{"severity": severity},
)}

test_fail_no_such_flavor if {
	admission_check_works.report == on_flavors("error", "a-100") with input as flavors(["a-100"])
	admission_check_works.report == on_flavors("warning", "h100") with input as flavors(["a100", "h100"])
}

of_multikueue(document) := json.patch(document, [
	check({"controllerName": "kueue.x-k8s.io/multikueue", "parameters": parameters("MultiKueueConfig", "all").parameters}),
	runs.set("/objects/-", {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "MultiKueueConfig", "metadata": {"name": "all"}, "spec": {"clusters": ["far"]}}),
])

test_fail_multikueue_for_some_flavors if {
	path := ["spec", "admissionChecksStrategy", "admissionChecks", 0, "onFlavors"]
	message := "check nodes is of MultiKueue, which is for all flavors of a ClusterQueue (here: a100): survey is inactive"
	admission_check_works.report == {object.union(lib.at(3, path, message), {"fix": "Leave onFlavors out."})} with input as of_multikueue(flavors(["h100"]))
}

test_success_multikueue if {
	admission_check_works.report == set() with input as of_multikueue(flavors(["a100"]))
	admission_check_works.report == set() with input as of_multikueue(flavors([]))
}

test_success_flavor if admission_check_works.report == set() with input as flavors(["a100"])

test_success_parameters if {
	admission_check_works.report == set() with input as json.patch(runs.kueue, [check(object.union(provisioning, parameters("ProvisioningRequestConfig", "fast"))), config])
}

test_success_another_controller if {
	admission_check_works.report == set() with input as json.patch(runs.kueue, [check({"controllerName": "example.com/budget"})])
}
