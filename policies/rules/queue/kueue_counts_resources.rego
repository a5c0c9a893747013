# METADATA
# title: Kueue counts every resource that a run's pods ask for
# description: |
#   Kueue computes what a TrainJob asks for with the Trainer that it was built with. Kueue 0.17.0 has Trainer 2.2.0, where
#   trainer.resourcesPerNode takes the place of the runtime's resources; Trainer 2.3 adds to them. What only the runtime
#   names, its InfiniBand devices for instance, the pods get and the quota does not know of.
# related_resources:
# - ref: https://github.com/kubernetes-sigs/kueue/blob/v0.17.0/go.mod
#   description: the Trainer that Kueue is built with
# - ref: https://github.com/kubeflow/trainer/blob/v2.2.0/pkg/runtime/core/trainingruntime.go
#   description: where it replaces the resources
# custom:
#   symptoms:
#   - "pods hold devices that the Workload does not list, and the queue admits more than there is"
#   seen:
#   - "lab: tests/lab/test_training.py::test_infiniband_is_devices_and_locked_memory"
#   - "source: kueue go.mod"
#   - "source: trainer pkg/runtime/core/trainingruntime.go"
#   severity: warning
#   needs: cluster
#   fix: "Name every resource of the runtime's container in spec.trainer.resourcesPerNode, or none at all."
#   example: |
#     # the runtime's container node has limits: {nvidia.com/gpu: "8", nvidia.com/hostdev: "2"}
#     kind: TrainJob
#     metadata: {labels: {kueue.x-k8s.io/queue-name: training}}
#     spec:
#       trainer:
#         resourcesPerNode: {limits: {nvidia.com/gpu: "4"}}
package rules.queue.kueue_counts_resources

import data.lib

# The Trainer that a version of Kueue is built with, where it differs in this from the cluster's.
replaces := {"0.17.0"}

report contains lib.at(w.object, ["spec", "trainer", "resourcesPerNode"], message) if {
	input.cluster.versions.kueue in replaces
	semver.compare(input.versions.trainer, "2.3.0") >= 0
	some w in input.workloads
	w.kind == "TrainJob"
	w.runtime != null
	trainjob := input.objects[w.object]
	trainjob.metadata.labels["kueue.x-k8s.io/queue-name"]
	given := names(trainjob.spec.trainer.resourcesPerNode)
	count(given) > 0
	uncounted := of_runtime(w.runtime) - given
	count(uncounted) > 0
	message := sprintf("Kueue %s does not count %s, which only the runtime asks for: the pods get what no quota knows of", [
		input.cluster.versions.kueue,
		lib.joined(uncounted),
	])
}

# What the container that Trainer fills in asks for in the runtime.
of_runtime(runtime) := {name |
	some job in input.objects[runtime].spec.template.spec.replicatedJobs
	lib.ancestor(job) == "trainer"
	some container in job.template.spec.template.spec.containers
	container.name == "node"
	some name in names(object.get(container, "resources", {}))
}

names(resources) := {name | some side in ["requests", "limits"]; some name, _ in resources[side]}
