# METADATA
# title: A Volcano gang names its queue where Trainer reads it
# description: |
#   Trainer takes the queue of the PodGroup from the annotation scheduling.volcano.sh/queue-name of the runtime's
#   spec.template.metadata (or of a runtimePatch). On the runtime's own metadata, the TrainJob, the Job or the pod
#   template it is not read, and as a label it is read nowhere: the gang lands in the queue that the same annotation of
#   the namespace names, or in `default`, and no limit of its team holds. An empty value is refused by Trainer's webhook.
# related_resources:
# - ref: https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/runtime/core/trainingruntime.go
# - ref: https://github.com/kubeflow/website/pull/4213
# custom:
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_a_queue_where_trainer_does_not_read_it_leaves_the_gang_in_the_queue_default"
#   - "lab: tests/lab/test_gate_and_cluster.py::test_an_empty_queue_of_volcano_is_refused"
#   - "source: trainer pkg/runtime/framework/plugins/volcano/volcano.go"
#   - "source: volcano pkg/webhooks/admission/podgroups/mutate/mutate_podgroup.go"
#   severity: error
#   fix: "Write the annotation `scheduling.volcano.sh/queue-name: <queue>` in spec.template.metadata.annotations of the runtime."
#   example: |
#     kind: ClusterTrainingRuntime
#     metadata:
#       name: tf-gang
#       annotations: {scheduling.volcano.sh/queue-name: simulation}  # belongs in spec.template.metadata
#     spec:
#       podGroupPolicy: {volcano: {}}
package rules.queue.volcano_annotation

import data.lib
import data.lib.queueing

path := ["metadata", "annotations", queueing.annotation]

report contains lib.in_workload(w, path, "annotation scheduling.volcano.sh/queue-name is empty: Trainer refuses the TrainJob") if {
	some w in lib.workloads
	queueing.pod_group(w)
	queueing.volcano_annotation(w) == ""
}

report contains finding if {
	some w in unnamed
	some finding in misplaced(w)
}

report contains object.union(lib.in_workload(w, path, message), {"severity": "warning"}) if {
	some w in unnamed
	w.kind == "TrainJob"
	count(misplaced(w)) == 0
	queueing.volcano_queue(w) == "default"
	message := "podGroupPolicy.volcano without the annotation scheduling.volcano.sh/queue-name: the gang goes to Volcano's queue default"
}

unnamed := [w | some w in lib.workloads; queueing.pod_group(w); not queueing.volcano_annotation(w)]

misplaced(w) := {lib.in_workload(w, at, message(w, what, place)) |
	some above, place in places(w)
	some what, field in kinds
	at := array.concat(above, ["metadata", field, queueing.annotation])
	object.get(w.jobset, at, null) != null
} | {lib.at(i, ["metadata", field, queueing.annotation], message(w, what, "the object's metadata")) |
	some i in {w.object, w.runtime}
	some what, field in kinds
	input.objects[i].metadata[field][queueing.annotation]
}

kinds := {"annotation": "annotations", "label": "labels"}

# Where metadata stands in a JobSet: the path, and the place's name.
places(w) := {path: place |
	some n, _ in w.jobset.spec.replicatedJobs
	some [path, place] in [
		[[], "the JobSet"],
		[["spec", "replicatedJobs", n, "template"], "the Job template"],
		[["spec", "replicatedJobs", n, "template", "spec", "template"], "the pod template"],
	]
}

message(w, what, place) := sprintf("%s scheduling.volcano.sh/queue-name stands on %s, where Trainer does not read it: the gang goes to Volcano's queue %s", [what, place, queueing.volcano_queue(w)])
