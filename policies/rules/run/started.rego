# METADATA
# title: Somebody starts the run
# description: |
#   A run that is suspended in Git starts when somebody sets spec.suspend: Kueue does, for a run with a queue label. One with
#   managedBy kueue.x-k8s.io/multikueue is left alone by Trainer (a JobSet by JobSet), and without a queue label by Kueue too;
#   in a queue without MultiKueue's admission check Kueue admits it, and it holds its quota for nothing. A managedBy in the
#   JobSet of a runtime keeps JobSet away from every run of it: no Job is ever made, and nothing says so.
# related_resources:
# - ref: https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/controller/trainjob_controller.go
#   description: a TrainJob of another manager is skipped
# - ref: https://github.com/kubernetes-sigs/jobset/blob/v0.12.0/pkg/controllers/jobset_controller.go
#   description: a JobSet of another manager is skipped
# - ref: https://github.com/kubernetes-sigs/kueue/blob/v0.17.0/pkg/controller/jobframework/defaults.go
#   description: in a queue of MultiKueue Kueue sets managedBy itself
# custom:
#   symptoms:
#   - "a TrainJob without any condition and without a JobSet"
#   - "a JobSet without any Job and without an event"
#   severity: error
#   seen:
#   - "lab: tests/lab/test_runs_left_alone.py::test_a_run_of_another_manager_is_left_alone"
#   - "lab: tests/lab/test_runs_left_alone.py::test_a_run_for_multikueue_holds_the_quota_of_another_queue"
#   - "lab: tests/lab/test_runs_left_alone.py::test_a_jobset_of_another_manager_is_left_alone"
#   - "lab: tests/lab/test_runs_left_alone.py::test_a_suspended_run_that_no_queue_has_stays_suspended"
#   - "source: trainer pkg/controller/trainjob_controller.go"
#   - "source: jobset pkg/controllers/jobset_controller.go"
#   fix: "Leave managedBy out, or give the run its queue label; leave suspend out."
#   example: |
#     kind: TrainJob
#     metadata: {name: resnet}            # no queue label
#     spec:
#       managedBy: kueue.x-k8s.io/multikueue
package rules.run.started

import data.lib
import data.lib.queueing

multikueue := "kueue.x-k8s.io/multikueue"

controller := {"TrainJob": "Trainer", "JobSet": "JobSet"}

report contains lib.at(w.object, ["spec", "managedBy"], message) if {
	some w in queueing.runs
	input.objects[w.object].spec.managedBy == multikueue
	not queueing.local_queue(w)
	message := sprintf("managedBy is %s, and the run has no queue label: neither %s nor Kueue does anything", [multikueue, controller[w.kind]])
}

report contains object.union(lib.at(w.object, ["spec", "managedBy"], message), {"fix": fix}) if {
	some w in queueing.runs
	input.objects[w.object].spec.managedBy == multikueue
	queue := queueing.cluster_queue(w)
	every name in queueing.checks(queue) { another(name) }
	message := sprintf("managedBy is %s, and ClusterQueue %s has no admission check of it: Kueue admits the run here, and %s leaves it alone", [
		multikueue,
		queue.metadata.name,
		controller[w.kind],
	])
	fix := "Leave managedBy out: Kueue sets it where the queue has MultiKueue's admission check."
}

# An AdmissionCheck that is known, and not of MultiKueue.
another(name) if {
	some check in lib.objects_named("kueue.x-k8s.io", "AdmissionCheck", name)
	check.spec.controllerName != multikueue
}

report contains lib.in_workload(w, ["spec", "managedBy"], message) if {
	some w in lib.workloads
	w.kind != "JobSet"
	manager := w.jobset.spec.managedBy
	manager != "jobset.sigs.k8s.io/jobset-controller"
	message := sprintf("managedBy of the JobSet is %s: JobSet's controller leaves every run of the runtime alone, and no Job is made", [manager])
}

report contains object.union(lib.at(w.object, ["spec", "suspend"], message), {"severity": "warning", "fix": "Leave suspend out, or give the run its queue label: Kueue starts it then."}) if {
	some w in queueing.runs
	input.objects[w.object].spec.suspend == true
	not queueing.local_queue(w)
	message := "the run is suspended and no queue starts it: it waits until somebody changes spec.suspend"
}
