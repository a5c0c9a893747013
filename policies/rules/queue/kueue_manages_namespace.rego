# METADATA
# title: Kueue's configuration selects the namespaces of its runs
# description: |
#   Kueue takes care only of namespaces that managedJobsNamespaceSelector of its configuration selects. In another one its
#   webhook suspends a run with a queue label all the same, and its controller never looks at it: there is no Workload, and
#   nobody says why. So it is from Kueue 0.15 on, unless the feature gate ManagedJobsNamespaceSelectorAlwaysRespected is off.
# related_resources:
# - ref: https://github.com/kubernetes-sigs/kueue/blob/v0.17.0/pkg/controller/jobframework/reconciler.go
# - ref: https://kueue.sigs.k8s.io/docs/tasks/manage/setup_job_admission_policy/
# custom:
#   symptoms:
#   - "a suspended TrainJob without any Workload"
#   severity: error
#   needs: cluster
#   seen:
#   - "lab: tests/lab/test_kueue.py::test_in_a_namespace_that_is_not_selected_a_run_is_suspended_and_has_no_workload"
#   - "source: kueue pkg/controller/jobframework/reconciler.go"
#   - "source: kueue pkg/controller/jobframework/defaults.go"
#   fix: "Give the namespace the labels that managedJobsNamespaceSelector asks for, or select it there."
#   example: |
#     kind: ConfigMap
#     metadata: {name: kueue-manager-config, namespace: kueue-system}
#     data:
#       controller_manager_config.yaml: |
#         apiVersion: config.kueue.x-k8s.io/v1beta2
#         kind: Configuration
#         managedJobsNamespaceSelector: {matchLabels: {kueue-managed: "true"}}  # the namespace of the runs has no such label
package rules.queue.kueue_manages_namespace

import data.lib
import data.lib.namespaces
import data.lib.queueing

report contains lib.at(c.object, ["data", c.key, "managedJobsNamespaceSelector"], message) if {
	some c in queueing.configurations
	not c.content.featureGates.ManagedJobsNamespaceSelectorAlwaysRespected == false
	some namespace in {w.namespace | some w in queueing.runs; queueing.labelled(input.objects[w.object])}
	failed := namespaces.unmet(c.content.managedJobsNamespaceSelector, namespace)
	count(failed) > 0
	message := sprintf("managedJobsNamespaceSelector does not select namespace %s (%s): runs with a queue label stay suspended there without a Workload", [namespace, lib.joined(failed)])
}
