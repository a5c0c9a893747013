# METADATA
# title: The WorkloadPriorityClass of a queued run exists
# description: |
#   Kueue makes no Workload while the class in the label kueue.x-k8s.io/priority-class is missing: the run stays
#   suspended with nothing in the queue, and only Kueue's log says why. A PriorityClass of that name does not count.
# related_resources:
# - ref: https://kueue.sigs.k8s.io/docs/concepts/workload_priority_class/
# custom:
#   symptoms:
#   - "a suspended TrainJob without any Workload"
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_without_its_priority_class_a_run_has_no_workload"
#   - "source: kueue pkg/controller/jobframework/reconciler.go"
#   severity: error
#   needs: cluster
#   fix: "Name an existing WorkloadPriorityClass in the label, or add one."
#   example: |
#     kind: TrainJob
#     metadata:
#       name: resnet
#       labels: {kueue.x-k8s.io/queue-name: daytime, kueue.x-k8s.io/priority-class: urgnet}
package rules.queue.workload_priority_class_exists

import data.lib
import data.lib.queueing

label := "kueue.x-k8s.io/priority-class"

report contains lib.at(w.object, ["metadata", "labels", label], sprintf("WorkloadPriorityClass %s does not exist (there is: %s): the run stays suspended without a Workload", [name, lib.names("kueue.x-k8s.io", "WorkloadPriorityClass", "")])) if {
	lib.has_kueue
	some w in queueing.runs
	queueing.local_queue(w)
	name := input.objects[w.object].metadata.labels[label]
	name != ""
	not lib.exists("kueue.x-k8s.io", "WorkloadPriorityClass", "", name)
}
