# METADATA
# title: The Volcano queue of a run exists
# description: |
#   Volcano's webhook refuses a PodGroup of an unknown queue: Trainer cannot make the gang and the TrainJob stays
#   without pods; only an event of the TrainJob says why. The queues `default` and `root` always exist.
# related_resources:
# - ref: https://github.com/volcano-sh/volcano/blob/v1.14.1/pkg/webhooks/admission/podgroups/validate/validate_podgroup.go
# custom:
#   symptoms:
#   - "validatepodgroup.volcano.sh denied the request: unable to find queue"
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_without_its_volcano_queue_no_gang_is_made"
#   - "lab: tests/lab/test_validation.py::test_mutated_objects_are_judged_alike"
#   - "source: volcano pkg/webhooks/admission/podgroups/validate/validate_podgroup.go"
#   severity: error
#   needs: cluster
#   fix: "Name an existing Volcano Queue in the annotation scheduling.volcano.sh/queue-name, or add the Queue."
#   example: |
#     kind: ClusterTrainingRuntime
#     metadata: {name: tf-gang}
#     spec:
#       podGroupPolicy: {volcano: {}}
#       template:
#         metadata:
#           annotations: {scheduling.volcano.sh/queue-name: simulaton}  # the Queue is called simulation
package rules.queue.volcano_queue_exists

import data.lib
import data.lib.queueing

report contains lib.in_workload(w, ["metadata", "annotations", queueing.annotation], message(name)) if {
	lib.has_volcano
	some w in lib.workloads
	queueing.pod_group(w)
	name := queueing.volcano_annotation(w)
	missing(name)
}

# A JobSet of its own gets its PodGroup from the pods' annotation.
report contains lib.in_workload(g.workload, lib.template_path(g, ["metadata", "annotations", queueing.annotation]), message(name)) if {
	lib.has_volcano
	some g in lib.all_pods
	g.workload.kind == "JobSet"
	lib.pod_spec(g).schedulerName == "volcano"
	name := lib.template(g).metadata.annotations[queueing.annotation]
	missing(name)
}

report contains lib.at(i, ["spec", "queue"], message(group.spec.queue)) if {
	some i, group in lib.objects("scheduling.volcano.sh", "PodGroup")
	missing(group.spec.queue)
}

missing(name) if {
	not name in {"", "default", "root"}
	not lib.exists("scheduling.volcano.sh", "Queue", "", name)
}

message(name) := sprintf("Volcano Queue %s does not exist (there is: %s): the PodGroup is refused and no pod starts", [name, lib.names("scheduling.volcano.sh", "Queue", "")])
