# METADATA
# title: A failed container fails its pod
# description: |
#   With restartPolicy OnFailure, which JobSet fills in where nothing is written, the kubelet restarts a failed worker
#   in place and alone. MultiWorkerMirroredStrategy cannot take it back: the others abort or hang. The Job counts the
#   restart against its backoffLimit, and until that is used up no JobSet recreates the gang. A restart by the container's own
#   restartPolicy or restartPolicyRules is not counted at all.
# related_resources:
# - ref: https://github.com/tensorflow/tensorflow/issues/42498
#   description: a peer that restarts alone has another incarnation
# - ref: https://github.com/kubernetes-sigs/jobset/blob/v0.12.0/pkg/webhooks/jobset_webhook.go
#   description: JobSet's default is OnFailure
# custom:
#   symptoms:
#   - "the JobSet counts no restart while a container restarts"
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_without_restart_policy_the_kubelet_restarts_one_worker_in_place"
#   - "lab: tests/lab/test_gate_and_cluster.py::test_a_restart_by_the_containers_own_policy_is_counted_by_nobody"
#   - "source: jobset pkg/webhooks/jobset_webhook.go"
#   - "source: kubernetes pkg/controller/job/job_controller.go"
#   severity: error
#   fix: "Write `restartPolicy: Never` in the pod template of every replicatedJob that runs workers."
#   example: |
#     template:
#       spec:
#         restartPolicy: OnFailure
#         containers: [{name: node}]
package rules.jobset.restart_policy_never

import data.lib

report contains lib.in_workload(g.workload, lib.pod_path(g, ["restartPolicy"]), message(policy)) if {
	some g in lib.gangs
	not lib.restarts_in_place(g.workload)
	policy := object.get(lib.pod_spec(g), "restartPolicy", null)
	policy != "Never"
}

# Since Kubernetes 1.34 a container may have a policy of its own.
report contains lib.in_workload(g.workload, lib.container_path(g, i, ["restartPolicy"]), message(policy)) if {
	some g in lib.gangs
	not lib.restarts_in_place(g.workload)
	i := lib.trainer_container(g)
	policy := lib.containers(g)[i].restartPolicy
	policy != "Never"
}

report contains lib.in_workload(g.workload, lib.container_path(g, i, ["restartPolicyRules", n, "action"]), message_rule) if {
	some g in lib.gangs
	not lib.restarts_in_place(g.workload)
	i := lib.trainer_container(g)
	some n, rule in lib.containers(g)[i].restartPolicyRules
	rule.action == "Restart"
}

message(null) := "restartPolicy is not set and JobSet's default is OnFailure: a failed worker restarts alone and the others hang"

message(policy) := sprintf("restartPolicy is %s: a failed worker restarts alone and the others hang", [policy]) if {
	policy != null
}

message_rule := "a restartPolicyRule restarts the container: a failed worker restarts alone and the others hang"
