# METADATA
# title: A TensorFlow runtime has no other framework's policy
# description: |
#   Trainer has no policy for TensorFlow: a runtime with numNodes alone gets the plain one, which changes nothing but the
#   number of pods. The policies of other frameworks add their environment, volumes and commands (mpi and flux replace
#   how the pods start), and no worker gets a TF_CONFIG from any of them.
# related_resources:
# - ref: https://github.com/kubeflow/trainer/tree/v2.3.0/pkg/runtime/framework/plugins
#   description: what each policy does
# custom:
#   seen:
#   - "lab: tests/oracle/test_resolve.py::test_case"
#   - "source: trainer pkg/runtime/framework/plugins/torch/torch.go"
#   - "source: trainer pkg/runtime/framework/plugins/mpi/mpi.go"
#   - "source: trainer pkg/runtime/framework/plugins/flux/flux.go"
#   - "source: trainer pkg/runtime/framework/plugins/plainml/plainml.go"
#   severity: error
#   fix: "Leave only numNodes in mlPolicy."
#   example: |
#     kind: ClusterTrainingRuntime
#     metadata: {labels: {trainer.kubeflow.org/framework: tensorflow}}
#     spec:
#       mlPolicy: {numNodes: 2, torch: {}}
package rules.trainer.no_framework_policy

import data.lib

report contains object.union(lib.at(lib.runtime_of(w), ["spec", "mlPolicy", policy], message), certainty(w, policy)) if {
	some w in lib.workloads
	w.tensorflow
	w.framework in {"", "tensorflow"}
	some policy in ["torch", "mpi", "jax", "flux", "xgboost"]
	policy in object.keys(w.mlPolicy)
	message := sprintf("mlPolicy.%s is another framework's policy: Trainer starts the pods in its way, not as TensorFlow workers", [policy])
}

# Horovod runs TensorFlow under MPI; only the label tells that it is not meant.
certainty(w, "mpi") := {"severity": "warning"} if w.framework == ""

certainty(w, policy) := {} if [w.framework, policy] != ["", "mpi"]
