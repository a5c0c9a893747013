# METADATA
# title: Somebody starts the run
# description: |
#   A run that is suspended in Git starts when somebody sets spec.suspend: Kueue does, for a run with a queue label. One with
#   managedBy kueue.x-k8s.io/multikueue is left alone by Trainer, and without a queue label by Kueue too. A managedBy in the
#   JobSet of a runtime keeps JobSet away from every run of it: no Job is ever made, and nothing says so.
# related_resources:
# - ref: https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/controller/trainjob_controller.go
#   description: a TrainJob of another manager is skipped
# - ref: https://github.com/kubernetes-sigs/jobset/blob/v0.12.0/pkg/controllers/jobset_controller.go
#   description: a JobSet of another manager is skipped
# custom:
#   symptoms:
#   - "a TrainJob without any condition and without a JobSet"
#   - "a JobSet without any Job and without an event"
#   severity: error
#   seen:
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

report contains lib.at(w.object, ["spec", "managedBy"], message) if {
	some w in queueing.runs
	w.kind == "TrainJob"
	manager := input.objects[w.object].spec.managedBy
	manager == "kueue.x-k8s.io/multikueue"
	not queueing.local_queue(w)
	message := sprintf("managedBy is %s, and the run has no queue label: neither Trainer nor Kueue does anything", [manager])
}

report contains lib.in_workload(w, ["spec", "managedBy"], message) if {
	some w in lib.workloads
	w.kind != "JobSet"
	manager := w.jobset.spec.managedBy
	manager != "jobset.sigs.k8s.io/jobset-controller"
	message := sprintf("managedBy of the JobSet is %s: JobSet's controller leaves every run of the runtime alone, and no Job is made", [manager])
}

report contains object.union(lib.at(w.object, ["spec", "suspend"], message), {"severity": "warning"}) if {
	some w in queueing.runs
	input.objects[w.object].spec.suspend == true
	not queueing.local_queue(w)
	message := "the run is suspended and no queue starts it: it waits until somebody changes spec.suspend"
}
