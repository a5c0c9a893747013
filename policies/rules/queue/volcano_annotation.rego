# METADATA
# title: A Volcano gang names its queue where Trainer reads it
# description: |
#   Trainer takes the queue of the PodGroup from the annotation scheduling.volcano.sh/queue-name of the runtime's
#   spec.template.metadata (or of a runtimePatch). On the runtime's own metadata, the TrainJob, the Job or the pod
#   template it is not read: the gang lands in the queue that the same annotation of the namespace names, or in `default`,
#   and no limit of its team holds. An empty value is refused by Trainer's webhook.
# related_resources:
# - ref: https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/runtime/core/trainingruntime.go
# - ref: https://github.com/kubeflow/website/pull/4213
# custom:
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_an_annotation_that_trainer_does_not_read_leaves_the_gang_in_the_queue_default"
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

misplaced(w) := {lib.in_workload(w, at, message(w, place)) |
	some n, job in w.jobset.spec.replicatedJobs
	some place, rest in {"the Job template": ["template"], "the pod template": ["template", "spec", "template"]}
	object.get(job, array.concat(rest, path), null) != null
	at := array.concat(array.concat(["spec", "replicatedJobs", n], rest), path)
} | {lib.at(i, path, message(w, "the object's metadata")) |
	some i in {w.object, w.runtime}
	input.objects[i].metadata.annotations[queueing.annotation]
}

message(w, place) := sprintf("annotation scheduling.volcano.sh/queue-name stands on %s, where Trainer does not read it: the gang goes to Volcano's queue %s", [place, queueing.volcano_queue(w)])
