# METADATA
# title: What a run may change of its runtime
# description: |
#   The pod templates that TrainJobs give in runtimePatches (2.1: podTemplateOverrides), and the lists of what they may
#   bring. The lists are `runs` of cluster.yaml; where a cluster has none, nobody has decided yet.
package lib.overrides

import data.lib
import data.lib.infiniband

# Every pod template of a patch: {"object", "path", "template"}.
templates contains {"object": i, "path": path, "template": template} if {
	some i, trainjob in lib.objects("trainer.kubeflow.org", "TrainJob")
	some n, patch in trainjob.spec.runtimePatches
	some j, job in patch.trainingRuntimeSpec.template.spec.replicatedJobs
	template := job.template.spec.template
	path := ["spec", "runtimePatches", n, "trainingRuntimeSpec", "template", "spec", "replicatedJobs", j, "template", "spec", "template"]
}

templates contains {"object": i, "path": ["spec", "podTemplateOverrides", n], "template": override} if {
	some i, trainjob in lib.objects("trainer.kubeflow.org", "TrainJob")
	some n, override in trainjob.spec.podTemplateOverrides
}

decided if input.cluster.runs

given := object.get(input, ["cluster", "runs"], {})

# What a run may name. `default` is what a pod without any ServiceAccount has.
allowed := {
	"serviceAccounts": object.get(given, "serviceAccounts", []),
	"hostPaths": object.get(given, "hostPaths", []),
	"capabilities": object.get(given, "capabilities", locked_memory),
	"networks": [lib.fabric.attachment | infiniband.has_fabric],
}

default locked_memory := []

locked_memory := ["IPC_LOCK"] if infiniband.has_fabric

locked_memory := ["IPC_LOCK"] if input.cluster == null
