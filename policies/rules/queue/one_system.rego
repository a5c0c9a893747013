# METADATA
# title: One queueing system holds a run, and the cluster has it
# description: |
#   Kueue starts a run when its quota is free, Volcano when its queue and its nodes are: with both, a run that Kueue
#   admitted holds its quota while Volcano keeps it waiting, in a queue that counts it a second time. A system that the
#   cluster does not have queues nothing: a label is ignored, a PodGroup cannot be made, pods wait for a scheduler
#   that does not exist.
# related_resources:
# - ref: https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/runtime/framework/plugins/volcano/volcano.go
# - ref: https://kueue.sigs.k8s.io/docs/tasks/run/trainjobs/
# custom:
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_with_two_systems_one_gives_quota_to_what_the_other_holds"
#   - "lab: tests/lab/test_gate_and_cluster.py::test_what_no_scheduler_takes_is_never_scheduled"
#   severity: error
#   fix: "Keep one: the queue label on the TrainJob for Kueue, or a runtime with podGroupPolicy.volcano and schedulerName volcano for Volcano."
#   example: |
#     kind: TrainJob
#     metadata: {name: resnet, labels: {kueue.x-k8s.io/queue-name: daytime}}
#     spec:
#       runtimeRef: {name: tf-resnet-volcano}  # a runtime with podGroupPolicy.volcano
package rules.queue.one_system

import data.lib
import data.lib.queueing

report contains lib.at(w.object, queueing.own_label, sprintf("the run has a Kueue queue (%s) and %s: two systems decide when it starts", [name, volcanos(w)])) if {
	some w in queueing.runs
	name := queueing.labelled(input.objects[w.object])
	lib.kueue_may_exist
	lib.volcano_may_exist
	queueing.volcano(w)
}

report contains lib.at(w.object, queueing.own_label, sprintf("the run asks for queue %s of Kueue, and cluster %s has no Kueue: the label is ignored", [name, input.cluster.name])) if {
	some w in queueing.runs
	name := queueing.labelled(input.objects[w.object])
	not lib.kueue_may_exist
}

# A fault of the runtime where there is one, else of the JobSet.
report contains finding if {
	some w in input.workloads
	not lib.volcano_may_exist
	queueing.pod_group(w)
	finding := lib.at(lib.runtime_of(w), ["spec", "podGroupPolicy", "volcano"], sprintf("podGroupPolicy.volcano on cluster %s, which has no Volcano: the PodGroup cannot be made and the run never starts", [input.cluster.name]))
}

report contains finding if {
	some g in lib.all_pods
	not lib.volcano_may_exist
	not queueing.pod_group(g.workload)
	lib.pod_spec(g).schedulerName == "volcano"
	finding := lib.in_workload(g.workload, lib.pod_path(g, ["schedulerName"]), sprintf("schedulerName is volcano on cluster %s, which has no Volcano: no pod is ever scheduled", [input.cluster.name]))
}

volcanos(w) := "podGroupPolicy.volcano" if queueing.pod_group(w)

volcanos(w) := "pods with schedulerName volcano" if not queueing.pod_group(w)
