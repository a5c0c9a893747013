# METADATA
# title: The LocalQueue of a run exists in its namespace
# description: |
#   Kueue suspends the run and makes a Workload that waits for a LocalQueue of that name in the run's own namespace.
#   One of another namespace does not count. The run waits for ever; only the Workload's status says why.
# related_resources:
# - ref: https://kueue.sigs.k8s.io/docs/tasks/troubleshooting/troubleshooting_jobs/
# custom:
#   symptoms:
#   - "LocalQueue … doesn't exist"
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_what_the_queue_cannot_take_is_never_admitted"
#   - "source: kueue pkg/controller/core/workload_controller.go"
#   severity: error
#   needs: cluster
#   fix: "Name a LocalQueue of the run's namespace in the label, or add one there that leads to the ClusterQueue."
#   example: |
#     kind: TrainJob
#     metadata:
#       name: resnet
#       namespace: vision
#       labels: {kueue.x-k8s.io/queue-name: daytme}  # the LocalQueue is called daytime
package rules.queue.local_queue_exists

import data.lib
import data.lib.queueing

report contains lib.at(w.object, ["metadata", "labels", queueing.label], message(name, w.namespace)) if {
	lib.has_kueue
	some w in queueing.runs
	name := queueing.labelled(input.objects[w.object])
	w.namespace != ""
	not lib.exists("kueue.x-k8s.io", "LocalQueue", w.namespace, name)
}

message(name, namespace) := sprintf("LocalQueue %s does not exist in namespace %s (it has: %s): the run is never admitted", [name, namespace, lib.names("kueue.x-k8s.io", "LocalQueue", namespace)]) if {
	count(elsewhere(name)) == 0
}

message(name, namespace) := sprintf("LocalQueue %s does not exist in namespace %s but in %s, where this run cannot use it: it is never admitted", [name, namespace, lib.joined(elsewhere(name))]) if {
	count(elsewhere(name)) > 0
}

elsewhere(name) := [namespace |
	some queue in lib.objects_named("kueue.x-k8s.io", "LocalQueue", name)
	namespace := queue.metadata.namespace
]
