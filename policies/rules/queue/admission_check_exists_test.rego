package rules_test.queue.admission_check_exists

import data.lib
import data.rules.queue.admission_check_exists
import data.rules_test.runs

found(path) := {lib.at(3, path, "AdmissionCheck approval does not exist (there is: none): the ClusterQueue is inactive and admits nothing")}

checked := json.patch(runs.kueue, [runs.set("/objects/3/spec/admissionChecksStrategy", {"admissionChecks": [{"name": "approval"}]})])

test_fail_missing if admission_check_exists.report == found(["spec", "admissionChecksStrategy", "admissionChecks", 0, "name"]) with input as checked

test_fail_older_api if {
	admission_check_exists.report == found(["spec", "admissionChecks", 0]) with input as json.patch(runs.kueue, [runs.set("/objects/3/spec/admissionChecks", ["approval"])])
}

test_success_exists if {
	admission_check_exists.report == set() with input as json.patch(checked, [runs.set("/objects/-", {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "AdmissionCheck", "metadata": {"name": "approval"}})])
}

test_success_external if {
	admission_check_exists.report == set() with input as json.patch(checked, [runs.set("/cluster/external/-", {"kind": "AdmissionCheck", "namespace": "", "name": "approval"})])
}

test_success_none if admission_check_exists.report == set() with input as runs.kueue
