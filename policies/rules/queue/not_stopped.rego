# METADATA
# title: The queue of a run is not stopped
# description: |
#   stopPolicy Hold or HoldAndDrain on a LocalQueue or ClusterQueue keeps every run in it waiting until somebody changes
#   it, and HoldAndDrain also stops those that train. That is what it is for; a run that is added meanwhile should not be
#   waited for. With Argo CD the queue is not started by hand either: selfHeal stops it again.
# related_resources:
# - ref: https://kueue.sigs.k8s.io/docs/concepts/cluster_queue/#stop-policy
# custom:
#   symptoms:
#   - "ClusterQueue … is stopped"
#   severity: warning
#   needs: cluster
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_without_the_queue_label_a_run_starts_from_a_closed_queue"
#   - "source: kueue pkg/controller/core/workload_controller.go"
#   fix: "Take stopPolicy out of the queue in Git, or send the run to another queue."
#   example: |
#     kind: ClusterQueue
#     metadata: {name: vision}
#     spec: {stopPolicy: Hold}
package rules.queue.not_stopped

import data.lib
import data.lib.queueing

report contains lib.at(w.object, queueing.label_path(w), message) if {
	some w in queueing.runs
	lib.has_kueue
	some queue in array.concat([queueing.local_queue_object(w)], [q | q := queueing.cluster_queue(w)])
	policy := object.get(queue.spec, "stopPolicy", "None")
	policy != "None"
	message := sprintf("%s is stopped (stopPolicy: %s): the run waits until that is changed", [lib.title(queue), policy])
}
