# METADATA
# title: The Jobs that Trainer fills in have the container that it fills in
# description: |
#   Trainer writes a TrainJob's image, command, env and resources into the container `node` of the trainer's Job
#   (dataset-initializer and model-initializer: the container of that name). Its webhook refuses a runtime without; of a
#   TrainingRuntime it sees no edit, so that one without the container is stored, and its TrainJobs do nothing of what they say.
# related_resources:
# - ref: https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/webhooks/trainingruntime_webhook.go
#   description: what the webhook asks for
# - ref: https://github.com/kubeflow/trainer/issues/2719
#   description: a runtime whose container has another name
# custom:
#   symptoms:
#   - "must contain the required container for the ancestor: trainer"
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_a_runtime_without_the_container_node_is_refused"
#   - "lab: tests/lab/test_own_runtime.py::test_the_webhook_sees_no_edit_of_a_runtime_of_a_namespace"
#   - "lab: tests/lab/test_own_runtime.py::test_a_label_keeps_the_webhook_away"
#   - "source: trainer pkg/webhooks/trainingruntime_webhook.go"
#   - "source: trainer pkg/runtime/framework/plugins/jobset/builder.go"
#   severity: error
#   fix: "Rename the container to `node`, or, in an initializer's Job, to the name that stands in its label."
#   example: |
#     replicatedJobs:
#     - name: node
#       template:
#         metadata:
#           labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}
#         spec: {template: {spec: {containers: [{name: tensorflow}]}}}
package rules.trainer.node_container

import data.lib

report contains lib.at(i, array.concat(path, place(containers)), message) if {
	some i, runtime in lib.runtimes
	some n, job in runtime.spec.template.spec.replicatedJobs
	wanted := lib.ancestor_containers[lib.ancestor(job)]
	containers := object.get(job.template, ["spec", "template", "spec", "containers"], [])
	names := [c.name | some c in containers]
	not wanted in names
	path := ["spec", "template", "spec", "replicatedJobs", n, "template", "spec", "template", "spec", "containers"]
	message := sprintf(
		"no container is named %s (there is: %s): Trainer refuses the runtime, as it would not know where to write image, command and env",
		[wanted, lib.joined(names)],
	)
}

# The one container whose name is wrong, else the list.
place(containers) := [0, "name"] if count(containers) == 1

place(containers) := [] if count(containers) != 1
