package rules_test.nodes.provisioned_in_time

import data.lib
import data.rules.nodes.provisioned_in_time
import data.rules_test.runs

growing(seconds) := json.patch(runs.kueue, [
	runs.put("/cluster/nodes/0", {"pool": "a100", "count": 1, "maxCount": 4, "provisioningSeconds": seconds, "allocatable": {"nvidia.com/gpu": "8"}}),
	runs.set(sprintf("%s/command", [runs.node]), ["python3", "/opt/tfrun.py", "--", "python3", "train.py"]),
	runs.set("/workloads/0/jobset/spec/failurePolicy", {"maxRestarts": 2}),
])

timed(from, seconds) := json.patch(from, [runs.set(sprintf("%s/env/-", [runs.node]), {"name": "TF_DISCOVERY_TIMEOUT", "value": seconds})])

found(severity, path, text) := {object.union(lib.in_workload({"index": 0}, array.concat(runs.node_path, path), text), {"severity": severity})}

test_fail_default if {
	provisioned_in_time.report == found("warning", ["env"], "workers wait 900 s for one another, and a new node of pool a100 takes 1200 s: those that start first give up") with input as growing(1200)
}

test_fail_variable if {
	provisioned_in_time.report == found("warning", ["env", 2, "value"], "workers wait 600 s for one another, and a new node of pool a100 takes 700 s: those that start first give up") with input as timed(growing(700), "600")
}

# Three attempts of 900 s are over before the second node comes.
test_fail_after_all_restarts if {
	provisioned_in_time.report == found("error", ["env"], "workers wait 900 s for one another, and a new node of pool a100 takes 3000 s: those that start first give up") with input as growing(3000)
}

test_fail_only_warns_where_all_nodes_may_be_there if {
	[f.severity | some f in provisioned_in_time.report] == ["warning"] with input as json.patch(growing(3000), [runs.put("/cluster/nodes/0/count", 2)])
	[f.severity | some f in provisioned_in_time.report] == ["warning"] with input as json.patch(growing(3000), [runs.put("/cluster/nodes/0/count", 0)])
}

test_success_in_time if {
	provisioned_in_time.report == set() with input as growing(900)
	provisioned_in_time.report == set() with input as timed(growing(1200), "1500")
}

test_success_pool_of_one_size if provisioned_in_time.report == set() with input as json.patch(growing(1200), [runs.put("/cluster/nodes/0/maxCount", 1)])

# TensorFlow itself waits without an end.
test_success_without_tfrun if provisioned_in_time.report == set() with input as json.patch(growing(1200), [runs.drop(sprintf("%s/command", [runs.node]))])

test_success_one_worker if provisioned_in_time.report == set() with input as json.patch(growing(1200), [runs.set("/workloads/0/pods/0/count", 1)])

test_success_volcano if {
	provisioned_in_time.report == set() with input as json.patch(growing(1200), [runs.set(sprintf("%s/schedulerName", [runs.pod]), "volcano")])
}

test_success_topology if {
	provisioned_in_time.report == set() with input as json.patch(growing(1200), [runs.set("/objects/4/spec", {"topologyName": "racks", "nodeLabels": {"a": "b"}})])
}

checked(controller) := json.patch(growing(1200), [
	runs.set("/objects/3/spec/admissionChecksStrategy", {"admissionChecks": [{"name": "check"}]}),
	runs.set("/objects/-", {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "AdmissionCheck", "metadata": {"name": "check"}, "spec": {"controllerName": controller}}),
])

test_success_provisioning_request if provisioned_in_time.report == set() with input as checked("kueue.x-k8s.io/provisioning-request")

test_fail_another_check if count(provisioned_in_time.report) == 1 with input as checked("example.com/budget")

configured(timeout) := json.patch(runs.kueue, [
	runs.put("/cluster/nodes/0", {"pool": "a100", "count": 1, "maxCount": 4, "provisioningSeconds": 700, "allocatable": {"nvidia.com/gpu": "8"}}),
	runs.set("/objects/-", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kueue-manager-config"}, "data": {"c.yaml": sprintf(
		`apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
waitForPodsReady: {timeout: %s}`,
		[timeout],
	)}}),
])

test_fail_kueue_waits_too_short if {
	provisioned_in_time.report == {lib.at(6, ["data", "c.yaml", "waitForPodsReady", "timeout"], "waitForPodsReady.timeout is 5m, and a new node of pool a100 takes 700 s: Kueue stops a run that waits for one, again and again")} with input as configured("5m")
}

test_success_kueue_waits if provisioned_in_time.report == set() with input as configured("20m")
