package rules_test.run.started

import data.rules.run.started.report
import data.rules_test.fixture

managed := fixture.with_trainjob(fixture.trainjob, "spec/managedBy", "kueue.x-k8s.io/multikueue")

suspended := fixture.with_trainjob(fixture.trainjob, "spec/suspend", true)

queued(document) := fixture.with_trainjob(document, "metadata/labels", {"kueue.x-k8s.io/queue-name": "nightly"})

test_fail_managed if {
	report == {fixture.at(
		0, ["spec", "managedBy"],
		"managedBy is kueue.x-k8s.io/multikueue, and the run has no queue label: neither Trainer nor Kueue does anything",
	)} with input as managed
}

test_fail_managed_jobset if {
	report == {fixture.at(
		0, ["spec", "managedBy"],
		"managedBy is kueue.x-k8s.io/multikueue, and the run has no queue label: neither JobSet nor Kueue does anything",
	)} with input as fixture.set(fixture.jobset, "/objects/0", "spec", {"managedBy": "kueue.x-k8s.io/multikueue"})
}

in_queue(checks) := json.patch(queued(managed), [{"op": "add", "path": "/objects/-", "value": each} | some each in array.concat(
	[
		{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": "nightly", "namespace": "team"}, "spec": {"clusterQueue": "share"}},
		{
			"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "share"},
			"spec": {"admissionChecksStrategy": {"admissionChecks": [{"name": name} | some name, _ in checks]}},
		},
	],
	[check |
		some name, controller in checks
		controller != ""
		check := {
			"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "AdmissionCheck", "metadata": {"name": name},
			"spec": {"controllerName": controller},
		}
	],
)])

test_fail_no_check if {
	finding := object.union(
		fixture.at(
			0, ["spec", "managedBy"],
			"managedBy is kueue.x-k8s.io/multikueue, and ClusterQueue share has no admission check of it: Kueue admits the run here, and Trainer leaves it alone",
		),
		{"fix": "Leave managedBy out: Kueue sets it where the queue has MultiKueue's admission check."},
	)
	every checks in [{}, {"nodes": "kueue.x-k8s.io/provisioning-request"}] {
		report == {finding} with input as in_queue(checks)
	}
}

test_success_check if {
	every checks in [{"far": "kueue.x-k8s.io/multikueue"}, {"unknown": ""}] {
		report == set() with input as in_queue(checks)
	}
}

test_fail_jobset_managed if {
	message := "managedBy of the JobSet is example.com/other: JobSet's controller leaves every run of the runtime alone, and no Job is made"
	every document in [fixture.trainjob, fixture.runtime] {
		report == {fixture.in_workload(["spec", "managedBy"], message)} with input as fixture.with_spec(document, "managedBy", "example.com/other")
	}
}

test_fail_suspended if {
	report == {object.union(
		fixture.at(0, ["spec", "suspend"], "the run is suspended and no queue starts it: it waits until somebody changes spec.suspend"),
		{"severity": "warning", "fix": "Leave suspend out, or give the run its queue label: Kueue starts it then."},
	)} with input as suspended
}

test_success_queued if {
	report == set() with input as queued(managed)
	report == set() with input as queued(suspended)
}

test_success if {
	report == set() with input as fixture.trainjob
	report == set() with input as fixture.with_trainjob(fixture.trainjob, "spec/managedBy", "trainer.kubeflow.org/trainjob-controller")
	report == set() with input as fixture.with_spec(fixture.trainjob, "managedBy", "jobset.sigs.k8s.io/jobset-controller")
}
