# METADATA
# title: A Volcano gang is scheduled by Volcano
# description: |
#   Trainer makes the PodGroup of podGroupPolicy.volcano and puts its name on the pods; it does not set schedulerName.
#   Pods of another scheduler start one by one: some hold their GPUs while the others wait for a node. The other way
#   round, pods with schedulerName volcano and no podGroupPolicy get a PodGroup per Job with minMember 1, which is no gang.
# related_resources:
# - ref: https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/runtime/framework/plugins/volcano/volcano.go
# - ref: https://github.com/volcano-sh/volcano/issues/604
# custom:
#   symptoms:
#   - "a PodGroup exists, and the pods still start one by one"
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_without_the_schedulers_name_a_gang_starts_one_by_one"
#   - "lab: tests/lab/test_gate_and_cluster.py::test_without_its_policy_a_gang_of_volcano_starts_one_by_one"
#   - "lab: tests/lab/test_gate_and_cluster.py::test_what_no_scheduler_takes_is_never_scheduled"
#   - "source: trainer pkg/runtime/framework/plugins/volcano/volcano.go"
#   - "source: volcano pkg/controllers/podgroup/pg_controller_handler.go"
#   severity: error
#   fix: "Write `schedulerName: volcano` in the pod template of every replicatedJob, and `podGroupPolicy: {volcano: {}}` in the runtime."
#   example: |
#     kind: ClusterTrainingRuntime
#     metadata: {name: tf-gang}
#     spec:
#       podGroupPolicy: {volcano: {}}
#       template:
#         spec:
#           replicatedJobs:
#           - name: node
#             template: {spec: {template: {spec: {containers: [{name: node}]}}}}  # no schedulerName
package rules.queue.volcano_scheduler_name

import data.lib
import data.lib.queueing

report contains lib.in_workload(g.workload, lib.pod_path(g, ["schedulerName"]), message(scheduler(g))) if {
	some g in lib.all_pods
	queueing.pod_group(g.workload)
	scheduler(g) != "volcano"
}

report contains object.union(finding, {"severity": severity(g.workload)}) if {
	some g in lib.all_pods
	not queueing.pod_group(g.workload)
	not grouped(g)
	scheduler(g) == "volcano"
	lib.volcano_may_exist
	finding := lib.in_workload(g.workload, lib.pod_path(g, ["schedulerName"]), "schedulerName is volcano without podGroupPolicy.volcano: Volcano makes a PodGroup with minMember 1 for each Job, the pods are scheduled one by one")
}

scheduler(g) := object.get(lib.pod_spec(g), "schedulerName", "")

message("") := "podGroupPolicy.volcano without schedulerName: the pods go to default-scheduler, which knows no gang and starts them one by one"

message(name) := sprintf("podGroupPolicy.volcano and schedulerName %s: only volcano knows the PodGroup, the pods start one by one or never", [name]) if {
	name != ""
}

# Without Volcano no pod is scheduled at all: queue/one-system.
# A PodGroup that somebody makes by hand.
grouped(g) if lib.template(g).metadata.annotations["scheduling.k8s.io/group-name"]

severity(w) := "error" if {
	w.kind != "JobSet"
	pods(w) > 1
}

severity(w) := "warning" if w.kind == "JobSet"

severity(w) := "warning" if {
	w.kind != "JobSet"
	pods(w) <= 1
}

pods(w) := sum([pod.count | some pod in w.pods])
