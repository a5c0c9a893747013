# METADATA
# title: A run has at least one node
# description: |
#   Trainer takes trainer.numNodes as it is: with 0 the trainer's Job has no pod to wait for and is Complete at once, and so
#   is the TrainJob, which looks like a training that went well. A negative number is accepted too, and no Job can be made.
# related_resources:
# - ref: https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/runtime/framework/plugins/plainml/plainml.go
#   description: numNodes is taken over unchecked
# custom:
#   symptoms:
#   - "a TrainJob is Complete at once, without a pod"
#   severity: error
#   seen:
#   - "lab: tests/lab/test_roles.py::test_a_run_of_no_nodes_is_complete_at_once"
#   - "lab: tests/lab/test_roles.py::test_no_job_is_made_of_less_than_no_nodes"
#   - "source: trainer pkg/runtime/framework/plugins/plainml/plainml.go"
#   fix: "Write the number of workers in trainer.numNodes, or leave it out: the runtime's counts then."
#   example: |
#     kind: TrainJob
#     spec:
#       trainer: {numNodes: 0}
package rules.trainer.num_nodes

import data.lib

report contains lib.at(i, ["spec", "trainer", "numNodes"], message) if {
	some i, trainjob in lib.objects("trainer.kubeflow.org", "TrainJob")
	number := trainjob.spec.trainer.numNodes
	number < 1
	message := sprintf("numNodes is %d: %s", [number, outcome(number)])
}

outcome(0) := "the run has no pods and is Complete at once, with nothing trained"

outcome(number) := "no Job can be made, and the run waits for ever" if number < 0
