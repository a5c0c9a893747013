# METADATA
# title: Kueue's configuration names the kinds that it shall queue
# description: |
#   Kueue manages the kinds in integrations.frameworks of its configuration and no others. With a list that leaves
#   trainer.kubeflow.org/trainjob out, every TrainJob starts at once and its queue label means nothing.
# related_resources:
# - ref: https://kueue.sigs.k8s.io/docs/tasks/run/trainjobs/
# - ref: https://github.com/kubernetes-sigs/kueue/blob/v0.17.0/config/components/manager/controller_manager_config.yaml
# custom:
#   seen:
#   - "lab: tests/lab/test_kueue.py::test_kinds_that_kueue_is_not_told_to_manage_are_not_queued"
#   - "source: kueue pkg/controller/jobframework/setup.go"
#   - "source: kueue config/components/manager/controller_manager_config.yaml"
#   severity: error
#   needs: cluster
#   fix: "Add `trainer.kubeflow.org/trainjob` (for JobSets `jobset.x-k8s.io/jobset`) to integrations.frameworks of Kueue's configuration."
#   example: |
#     kind: ConfigMap
#     metadata: {name: kueue-manager-config, namespace: kueue-system}
#     data:
#       controller_manager_config.yaml: |
#         apiVersion: config.kueue.x-k8s.io/v1beta2
#         kind: Configuration
#         integrations: {frameworks: [batch/job]}
package rules.queue.kueue_manages_trainjobs

import data.lib
import data.lib.queueing

framework := {"TrainJob": "trainer.kubeflow.org/trainjob", "JobSet": "jobset.x-k8s.io/jobset"}

report contains lib.at(c.object, ["data", c.key, "integrations", "frameworks"], sprintf("integrations.frameworks lacks %s: Kueue takes no notice of the queue label of any %s", [framework[kind], kind])) if {
	some c in queueing.configurations
	some kind in {w.kind | some w in queueing.runs; queueing.labelled(input.objects[w.object])}
	count(c.content.integrations.frameworks) > 0
	not framework[kind] in c.content.integrations.frameworks
}
