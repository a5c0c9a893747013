# METADATA
# title: Trainer may read the PriorityClass of a Volcano gang
# description: |
#   Of a run of Volcano whose pods have a priorityClassName Trainer's webhook looks the PriorityClass up, and Trainer's own
#   manifests (2.1 to 2.3) do not let it: the call waits for a list that it never gets, and no such TrainJob can be made
#   or changed. Rights that are given outside of the repository are unknown, so this is a warning.
# related_resources:
# - ref: https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/runtime/framework/plugins/volcano/volcano.go
# - ref: https://github.com/kubeflow/trainer/blob/v2.3.0/manifests/base/rbac/role.yaml
# custom:
#   symptoms:
#   - "failed calling webhook validator.trainjob.trainer.kubeflow.org: context deadline exceeded"
#   severity: warning
#   needs: cluster
#   seen:
#   - "lab: tests/lab/test_cluster_queues.py::test_trainer_may_not_read_priority_classes_by_itself"
#   - "source: trainer pkg/runtime/framework/plugins/volcano/volcano.go"
#   - "source: trainer manifests/base/rbac/role.yaml"
#   fix: "Let Trainer's ServiceAccount get, list and watch priorityclasses of scheduling.k8s.io by a ClusterRole and a ClusterRoleBinding, or leave priorityClassName out."
#   example: |
#     kind: ClusterTrainingRuntime
#     metadata: {name: tf-tides}
#     spec:
#       podGroupPolicy: {volcano: {}}
#       template:
#         spec:
#           replicatedJobs:
#           - name: node
#             template:
#               spec: {template: {spec: {priorityClassName: urgent}}}  # and no ClusterRole lets Trainer read it
package rules.trainer.reads_priority_classes

import data.lib
import data.lib.queueing

report contains lib.in_workload(g.workload, lib.pod_path(g, ["priorityClassName"]), message) if {
	lib.has_volcano
	semver.compare(input.versions.trainer, "2.4.0") < 0
	not granted
	some g in lib.all_pods
	g.workload.kind != "JobSet"
	queueing.pod_group(g.workload)
	name := lib.pod_spec(g).priorityClassName
	not name in {"", "system-cluster-critical", "system-node-critical"}
	message := sprintf("Trainer looks up PriorityClass %s, and nothing here lets it read PriorityClasses: its webhook does not answer in time, and no run can be made", [name])
}

granted if {
	some binding in lib.objects("rbac.authorization.k8s.io", "ClusterRoleBinding")
	some subject in binding.subjects
	trainer(subject)
	reads(binding.roleRef.name)
}

granted if {
	some e in input.cluster.external
	e.kind == "ClusterRoleBinding"
}

trainer(subject) if {
	subject.kind == "ServiceAccount"
	contains(subject.name, "trainer")
}

trainer(subject) if {
	subject.kind == "Group"
	startswith(subject.name, "system:")
}

# A ClusterRole that is not in the input may allow anything.
reads(role) if {
	not role in {manifest.metadata.name | some manifest in lib.objects("rbac.authorization.k8s.io", "ClusterRole")}
}

reads(role) if {
	some manifest in lib.objects_named("rbac.authorization.k8s.io", "ClusterRole", role)
	some rule in manifest.rules
	names(rule.apiGroups, "scheduling.k8s.io")
	names(rule.resources, "priorityclasses")
	every verb in ["get", "list", "watch"] { names(rule.verbs, verb) }
}

names(list, word) if word in list

names(list, _) if "*" in list
