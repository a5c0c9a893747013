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

test_fail_jobset_managed if {
	message := "managedBy of the JobSet is example.com/other: JobSet's controller leaves every run of the runtime alone, and no Job is made"
	every document in [fixture.trainjob, fixture.runtime] {
		report == {fixture.in_workload(["spec", "managedBy"], message)} with input as fixture.with_spec(document, "managedBy", "example.com/other")
	}
}

test_fail_suspended if {
	report == {object.union(
		fixture.at(0, ["spec", "suspend"], "the run is suspended and no queue starts it: it waits until somebody changes spec.suspend"),
		{"severity": "warning"},
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
