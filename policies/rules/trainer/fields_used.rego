# METADATA
# title: Trainer uses what a run says of its trainer
# description: |
#   Some fields of spec.trainer are accepted and then left alone. From Trainer 2.3 resourcesPerNode counts only where the
#   runtime has an mlPolicy: without one the pods start with what the runtime asks for. Of resourcesPerNode it takes limits and
#   requests and nothing else: claims (DRA) are dropped, its own and those of the runtime's container. numProcPerNode is read
#   for the policies torch, mpi and flux; a TensorFlow runtime has none of them.
# related_resources:
# - ref: https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/runtime/core/trainingruntime.go
#   description: where resourcesPerNode is merged
# - ref: https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/runtime/framework/plugins/plainml/plainml.go
#   description: what is done where no framework's policy is given
# custom:
#   symptoms:
#   - "the pods have no GPU although the TrainJob asks for it"
#   severity: error
#   seen:
#   - "lab: tests/lab/test_runs_left_alone.py::test_without_a_policy_the_pods_ask_for_what_the_runtime_says"
#   - "lab: tests/lab/test_runs_left_alone.py::test_trainer_drops_claims"
#   - "lab: tests/lab/test_runs_left_alone.py::test_nothing_comes_of_the_number_of_processes"
#   - "source: trainer pkg/runtime/core/trainingruntime.go"
#   - "source: trainer pkg/runtime/framework/plugins/plainml/plainml.go"
#   fix: "Give the runtime an mlPolicy: `mlPolicy: {numNodes: 1}`."
#   example: |
#     kind: TrainJob
#     spec:
#       runtimeRef: {name: tf-plain}   # a runtime without mlPolicy
#       trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: "8"}}}
package rules.trainer.fields_used

import data.lib

report contains lib.at(w.object, ["spec", "trainer", "resourcesPerNode"], message) if {
	some w in runs
	semver.compare(input.versions.trainer, "2.3.0") >= 0
	not input.objects[w.runtime].spec.mlPolicy
	given := input.objects[w.object].spec.trainer.resourcesPerNode
	some side in ["limits", "requests"]
	count(given[side]) > 0
	message := sprintf("the runtime %s has no mlPolicy: Trainer ignores resourcesPerNode, and the pods ask for what the runtime says", [input.objects[w.runtime].metadata.name])
}

report contains object.union(lib.at(w.object, ["spec", "trainer", "resourcesPerNode", "claims"], message), {"fix": fix_claims}) if {
	some w in runs
	claims := {claim.name | some claim in input.objects[w.object].spec.trainer.resourcesPerNode.claims}
	count(claims) > 0
	message := sprintf("Trainer drops the claims of resourcesPerNode (%s): the pods get no device of them", [lib.joined(claims)])
}

report contains object.union(lib.at(w.object, ["spec", "trainer", "resourcesPerNode"], message), {"fix": fix_claims}) if {
	some w in runs
	given := input.objects[w.object].spec.trainer.resourcesPerNode
	count(object.keys(given) & {"limits", "requests"}) > 0
	claims := {claim.name |
		some job in input.objects[w.runtime].spec.template.spec.replicatedJobs
		lib.ancestor(job) == "trainer"
		some container in job.template.spec.template.spec.containers
		container.name == "node"
		some claim in container.resources.claims
	}
	count(claims) > 0
	message := sprintf("with resourcesPerNode Trainer drops the claims of the runtime's container (%s): the pods get no device of them", [lib.joined(claims)])
}

fix_claims := "Write all resources in the runtime's container, claims among them, and no resourcesPerNode."

report contains object.union(lib.at(w.object, ["spec", "trainer", "numProcPerNode"], message), {"severity": "warning", "fix": fix}) if {
	some w in runs
	number := input.objects[w.object].spec.trainer.numProcPerNode
	every policy in ["torch", "mpi", "flux"] { not policy in object.keys(w.mlPolicy) }
	message := sprintf("numProcPerNode is %v, and the runtime has no policy that reads it: Trainer ignores it", [number])
	fix := "Leave it out: a TensorFlow worker uses all GPUs of its pod in one process."
}

runs contains w if {
	some w in input.workloads
	w.kind == "TrainJob"
	w.runtime != null
}
