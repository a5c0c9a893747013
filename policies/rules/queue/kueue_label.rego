# METADATA
# title: Every run is queued
# description: |
#   Kueue queues a TrainJob by the label on its own metadata, a JobSet likewise if nothing owns it. Without the label
#   it starts at once and takes GPUs that a queue promised to others; where Kueue manages jobs without queue name it
#   stays suspended, with a Workload that names no queue. An empty label Kueue refuses. A run is queued otherwise if Kueue gives it the namespace's
#   LocalQueue `default`, or if its runtime has podGroupPolicy.volcano. podGroupPolicy.coscheduling queues nothing.
# related_resources:
# - ref: https://github.com/kubernetes-sigs/kueue/issues/3711
#   description: the queue of a job is read from the topmost managed object
# - ref: https://github.com/kubernetes-sigs/kueue/blob/v0.17.0/pkg/controller/jobframework/defaults.go
#   description: which jobs are suspended, and the default LocalQueue
# custom:
#   symptoms:
#   - "a run starts at once although the queue is full"
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_without_the_queue_label_a_run_starts_from_a_closed_queue"
#   - "lab: tests/lab/test_gate_and_cluster.py::test_without_the_queue_label_a_jobset_starts_from_a_closed_queue"
#   - "lab: tests/lab/test_gate_and_cluster.py::test_an_empty_queue_label_is_refused"
#   - "source: kueue pkg/controller/jobframework/defaults.go"
#   - "source: kueue pkg/controller/jobframework/reconciler.go"
#   - "source: kueue pkg/controller/jobframework/validation.go"
#   severity: error
#   fix: "Write the label `kueue.x-k8s.io/queue-name: <LocalQueue of the namespace>` in metadata.labels of the TrainJob (or JobSet) itself."
#   example: |
#     apiVersion: trainer.kubeflow.org/v1alpha1
#     kind: TrainJob
#     metadata: {name: resnet, namespace: vision}  # no label kueue.x-k8s.io/queue-name
#     spec:
#       runtimeRef: {name: tf-resnet}
package rules.queue.kueue_label

import data.lib
import data.lib.queueing

report contains lib.at(w.object, queueing.own_label, message) if {
	some w in unlabelled
	w.kind == "TrainJob"
	by_kueue(w)
	message := "label kueue.x-k8s.io/queue-name is missing: nothing queues this TrainJob, it starts at once outside every quota"
}

# Kueue asks for the name of an object wherever there is a label.
report contains lib.at(w.object, queueing.own_label, message) if {
	some w in unqueued
	lib.kueue_may_exist
	input.objects[w.object].metadata.labels[queueing.label] == ""
	message := sprintf("label kueue.x-k8s.io/queue-name is empty: Kueue refuses the %s", [w.kind])
}

report contains object.union(
	lib.at(w.object, ["spec", "runtimeRef", "name"], message),
	{
		"fix": "Use a runtime with `podGroupPolicy: {volcano: {}}`, `schedulerName: volcano` in its pods and a queue annotation.",
		"severity": needs_gang(w),
	},
) if {
	some w in unqueued
	w.kind == "TrainJob"
	w.runtime != null
	lib.has_volcano
	not lib.has_kueue
	message := sprintf("runtime %s has no podGroupPolicy.volcano: nothing queues this TrainJob, it starts at once outside every quota", [input.objects[w.object].spec.runtimeRef.name])
}

report contains object.union(lib.at(w.object, queueing.own_label, message), {"severity": severity(w, taken)}) if {
	some w in unlabelled
	w.kind == "JobSet"
	lib.kueue_may_exist
	taken := {resource | some resource, amount in w.demand; amount > 0; resource in queueing.covered}
	count(taken) > 0
	message := sprintf("label kueue.x-k8s.io/queue-name is missing: the JobSet takes %s, which a ClusterQueue gives out, outside its quota", [lib.joined([r | some r in taken])])
}

# Volcano is a scheduler that pods ask for: a run of one pod, or of another framework, can do without.
needs_gang(w) := "error" if {
	w.tensorflow
	lib.gang_size(w) > 1
} else := "warning"

unqueued := [w | some w in queueing.runs; not queueing.local_queue(w); not queueing.volcano(w)]

unlabelled := [w | some w in unqueued; not queueing.label in object.keys(object.get(input.objects[w.object].metadata, "labels", {}))]

# Where Volcano may queue as well, the runtime must be known not to use it.
by_kueue(_) if {
	lib.has_kueue
	not lib.has_volcano
}

by_kueue(w) if {
	lib.has_kueue
	w.runtime != null
}

by_kueue(w) if {
	input.cluster == null
	w.runtime != null
	w.tensorflow
}

severity(w, _) := "error" if w.tensorflow

severity(_, taken) := "error" if {
	some resource in taken
	lib.extended(resource)
}

severity(w, taken) := "warning" if {
	not w.tensorflow
	every resource in taken { not lib.extended(resource) }
}
