# METADATA
# title: A TensorFlow runtime has no other framework's policy
# description: |
#   Trainer has no policy for TensorFlow: a runtime with numNodes alone gets the plain one, which changes nothing but the
#   number of pods. The policies of other frameworks add what those need, and no worker gets a TF_CONFIG from any of them.
#   With those of torch, jax, xgboost and mpi workers under tfrun train all the same. Flux's takes the pods' command: the
#   first pod gives it to Flux, and the others offer themselves again and again, so that one that fails restarts no gang.
# related_resources:
# - ref: https://github.com/kubeflow/trainer/tree/v2.3.0/pkg/runtime/framework/plugins
#   description: what each policy does
# custom:
#   seen:
#   - "lab: tests/lab/test_runs_left_alone.py::test_the_policy_of_flux_takes_the_command"
#   - "lab: tests/lab/test_runs_left_alone.py::test_another_frameworks_policy_adds_what_that_one_needs_and_the_workers_train"
#   - "source: trainer pkg/runtime/framework/plugins/torch/torch.go"
#   - "source: trainer pkg/runtime/framework/plugins/mpi/mpi.go"
#   - "source: trainer pkg/runtime/framework/plugins/flux/flux.go"
#   - "source: trainer pkg/runtime/framework/plugins/flux/templates/entrypoint.sh"
#   - "source: trainer pkg/runtime/framework/plugins/plainml/plainml.go"
#   severity: error
#   fix: "Leave only numNodes in mlPolicy."
#   example: |
#     kind: ClusterTrainingRuntime
#     metadata: {labels: {trainer.kubeflow.org/framework: tensorflow}}
#     spec:
#       mlPolicy: {numNodes: 2, flux: {}}
package rules.trainer.no_framework_policy

import data.lib

report contains object.union(lib.at(lib.runtime_of(w), ["spec", "mlPolicy", policy], message(policy)), certainty[policy]) if {
	some w in lib.workloads
	w.tensorflow
	w.framework in {"", "tensorflow"}
	some policy, _ in certainty
	policy in object.keys(w.mlPolicy)
}

certainty := {
	"torch": {"severity": "warning"},
	"jax": {"severity": "warning"},
	"xgboost": {"severity": "warning"},
	"mpi": {"severity": "warning"},
	"flux": {},
}

message(policy) := sprintf("mlPolicy.%s is another framework's policy: Trainer gives the pods what that one needs, and nothing of it is TensorFlow's", [policy]) if policy != "flux"

message("flux") := "mlPolicy.flux is another framework's policy: Flux starts the command from the first pod, and the others never fail"
