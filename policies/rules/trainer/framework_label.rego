# METADATA
# title: A TensorFlow runtime says that it is one
# description: |
#   The SDK reads the label trainer.kubeflow.org/framework of a runtime: without it the runtime is not listed and cannot be
#   used from there, and with another framework's it is started in that one's way. This gate reads it as well.
# related_resources:
# - ref: https://www.kubeflow.org/docs/components/trainer/operator-guides/runtime/
#   description: labels of a runtime
# custom:
#   seen:
#   - "source: trainer docs/operator-guides/runtime.md"
#   severity: warning
#   fix: "Write `trainer.kubeflow.org/framework: tensorflow` in metadata.labels of the runtime."
#   example: |
#     kind: ClusterTrainingRuntime
#     metadata:
#       name: tensorflow-distributed
#       labels: {trainer.kubeflow.org/framework: torch}
package rules.trainer.framework_label

import data.lib

key := "trainer.kubeflow.org/framework"

others := {"deepspeed", "flux", "jax", "mlx", "pytorch", "torch", "torchtune", "xgboost"}

report contains lib.at(lib.runtime_of(w), ["metadata", "labels", key], message) if {
	some w in lib.workloads
	w.tensorflow
	w.framework == ""
	lib.runtime_of(w) >= 0
	message := sprintf("the runtime trains with TensorFlow and has no label %s: the SDK does not list it", [key])
}

report contains object.union(lib.at(lib.runtime_of(w), ["metadata", "labels", key], message), {"severity": "error"}) if {
	some w in lib.workloads
	w.tensorflow
	w.framework in others
	message := sprintf("the label %s is %s, but the runtime trains with TensorFlow", [key, w.framework])
}
