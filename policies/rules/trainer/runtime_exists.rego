# METADATA
# title: The runtime of a TrainJob exists
# description: |
#   Trainer's webhook refuses a TrainJob whose runtime does not exist. A TrainingRuntime has to be in the TrainJob's own
#   namespace, and runtimeRef.kind is ClusterTrainingRuntime where nothing is written. Kustomize does not follow a
#   runtime's new name (prefix, suffix) into runtimeRef unless a configurations file tells it to.
# related_resources:
# - ref: https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/runtime/core/trainingruntime.go
#   description: how Trainer looks the runtime up
# - ref: https://github.com/kubernetes-sigs/kustomize/issues/4674
#   description: names in custom resources
# custom:
#   symptoms:
#   - "specified trainingRuntime must be created before the TrainJob is created"
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_a_run_without_its_runtime_is_refused"
#   - "source: trainer pkg/runtime/core/trainingruntime.go"
#   severity: error
#   needs: cluster
#   fix: |
#     Write the name and kind of an existing runtime in spec.runtimeRef, let a kustomize `configurations:` file (nameReference)
#     follow its name, or list it under `external` in cluster.yaml if it is not in this repository.
#   example: |
#     kind: TrainJob
#     spec:
#       runtimeRef: {name: no-such-runtime}
package rules.trainer.runtime_exists

import data.lib
import data.lib.shipped

group := "trainer.kubeflow.org"

report contains lib.at(ref.object, ["spec", "runtimeRef", "kind"], message) if {
	some ref in refs
	not ref.kind in {"ClusterTrainingRuntime", "TrainingRuntime"}
	message := sprintf("runtimeRef.kind is %s: Trainer knows ClusterTrainingRuntime and TrainingRuntime only", [ref.kind])
}

report contains lib.at(ref.object, ["spec", "runtimeRef", "apiGroup"], message) if {
	some ref in refs
	ref.group != group
	message := sprintf("runtimeRef.apiGroup is %s: Trainer knows runtimes of %s only", [ref.group, group])
}

report contains object.union(lib.at(ref.object, ["spec", "runtimeRef", "name"], message), certainty(ref)) if {
	some ref in refs
	ref.group == group
	ref.kind in {"ClusterTrainingRuntime", "TrainingRuntime"}
	not lib.exists(group, ref.kind, ref.namespace, ref.name)
	message := sprintf("runtimeRef names %s %s, which does not exist (%s): Trainer refuses the TrainJob", [ref.kind, ref.name, there(ref)])
}

# What each TrainJob refers to, with Trainer's defaults, and the namespace to look in.
refs contains ref if {
	some i, trainjob in lib.objects(group, "TrainJob")
	given := trainjob.spec.runtimeRef
	kind := object.get(given, "kind", "ClusterTrainingRuntime")
	ref := {
		"object": i,
		"group": object.get(given, "apiGroup", group),
		"kind": kind,
		"name": given.name,
		"namespace": namespace(kind, trainjob),
	}
}

namespace("TrainingRuntime", trainjob) := object.get(trainjob.metadata, "namespace", "")

namespace(kind, _) := "" if kind != "TrainingRuntime"

# A runtime of that name but the other kind, or in another namespace, is most likely the one that is meant.
there(ref) := sprintf("there is %s", [concat(", ", sort(namesakes(ref)))]) if count(namesakes(ref)) > 0

there(ref) := sprintf("%ss: %s", [ref.kind, lib.names(group, ref.kind, ref.namespace)]) if count(namesakes(ref)) == 0

namesakes(ref) := {lib.title(runtime) | some runtime in lib.runtimes; runtime.metadata.name == ref.name}

# Whether the cluster's Trainer was installed with its default runtimes is not known here.
certainty(ref) := {"severity": "warning"} if is_shipped(ref)

certainty(ref) := {} if not is_shipped(ref)

is_shipped(ref) if {
	ref.kind == "ClusterTrainingRuntime"
	shipped.runtimes[ref.name]
}
