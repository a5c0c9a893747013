# METADATA
# title: A TensorFlow runtime says that it is one
# description: |
#   Kubeflow's SDK reads the label trainer.kubeflow.org/framework of a runtime. One without it is left out of its list of runtimes
#   and cannot be used from there; while a TrainJob of it is there, the SDK lists no TrainJob of that namespace. With torchtune
#   it starts `tune run`, another word is what it shows people. This gate reads the label as well. A labelled runtime
#   without mlPolicy makes the SDK's list of runtimes fail. Seen with the SDK of 0.5.0.
# related_resources:
# - ref: https://www.kubeflow.org/docs/components/trainer/operator-guides/runtime/
#   description: labels of a runtime
# - ref: https://pypi.org/project/kubeflow/0.5.0/
#   description: Kubeflow's SDK, whose list_runtimes, get_runtime and list_jobs were run against such runtimes
# custom:
#   seen:
#   - "lab: tests/lab/test_sdk.py::test_a_runtime_without_its_label_is_left_out_and_takes_the_list_of_runs_with_it"
#   - "lab: tests/lab/test_sdk.py::test_a_labelled_runtime_without_mlpolicy_takes_the_list_of_runtimes_with_it"
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

report contains lib.at(lib.runtime_of(w), ["metadata", "labels", key], message) if {
	some w in lib.workloads
	w.tensorflow
	w.framework in others
	message := sprintf("the label %s is %s, but the runtime trains with TensorFlow", [key, w.framework])
}

report contains object.union(lib.at(i, ["spec", "mlPolicy"], message), {"severity": "info", "fix": fix}) if {
	some w in lib.workloads
	w.tensorflow
	w.framework != ""
	i := lib.runtime_of(w)
	not input.objects[i].spec.mlPolicy
	message := "the runtime has no mlPolicy: while it is there, Kubeflow's SDK fails to list any runtime"
	fix := "Write `mlPolicy: {numNodes: 1}` in the runtime."
}
