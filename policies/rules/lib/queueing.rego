# METADATA
# title: Who queues a run, and what its queue can give
# description: |
#   Kueue reads the label of the TrainJob (or of a JobSet that nothing owns) and leads through LocalQueue and
#   ClusterQueue to quotas; Volcano reads the runtime's podGroupPolicy and an annotation. Functions that need
#   objects are undefined where the input does not hold them.
package lib.queueing

import data.lib

label := "kueue.x-k8s.io/queue-name"

annotation := "scheduling.volcano.sh/queue-name"

# TrainJobs and JobSets that nothing else owns: what Kueue and Volcano queue.
runs := [w | some w in input.workloads; is_run(w)]

is_run(w) if {
	w.kind in {"TrainJob", "JobSet"}
	not owned(input.objects[w.object])
}

# Those of `sized` that run on the nodes of this cluster: MultiKueue sends a run to another one.
here := [w | some w in input.workloads; is_here(w)]

is_here(w) if {
	is_sized(w)
	object.get(input.objects[w.object].spec, "managedBy", "") != "kueue.x-k8s.io/multikueue"
}

owned(manifest) if {
	some owner in manifest.metadata.ownerReferences
	owner.controller == true
}

# Runs of which it is known what they ask for. Where no Job of the runtime is the trainer's, nothing that a TrainJob asks
# for reaches its pods: trainer/ancestor-label says so, and what is left does not tell what was meant.
sized := [w | some w in input.workloads; is_sized(w)]

is_sized(w) if {
	is_run(w)
	not filled_in_nowhere(w)
}

filled_in_nowhere(workload) if {
	workload.kind == "TrainJob"
	workload.jobset != null
	every job in workload.jobset.spec.replicatedJobs { lib.ancestor(job) != "trainer" }
}

# Whether the Jobs of a run wait for one another: some pods may be made only when others are gone.
in_order(w) if {
	some job in w.jobset.spec.replicatedJobs
	count(job.dependsOn) > 0
}

in_order(w) if w.jobset.spec.startupPolicy.startupPolicyOrder == "InOrder"

# --- Kueue ------------------------------------------------------------------------------------------------------

# The queue label on the object itself; an empty one counts as none.
labelled(manifest) := name if {
	name := manifest.metadata.labels[label]
	name != ""
}

# The LocalQueue of a run: its label, else `default` where the namespace has a LocalQueue of that name (Kueue adds the label).
local_queue(run) := labelled(input.objects[run.object])

local_queue(run) := "default" if {
	not labelled(input.objects[run.object])
	lib.exists("kueue.x-k8s.io", "LocalQueue", run.namespace, "default")
}

own_label := ["metadata", "labels", label]

# Where a run says its queue; the label of a run that Kueue sends to `default` is absent.
label_path(run) := own_label if labelled(input.objects[run.object])

label_path(run) := ["metadata", "labels"] if not labelled(input.objects[run.object])

# The run's LocalQueue, where it is in the input.
local_queue_object(run) := [local |
	name := local_queue(run)
	some local in lib.objects_named("kueue.x-k8s.io", "LocalQueue", name)
	object.get(local.metadata, "namespace", "") == run.namespace
][0]

# The ClusterQueue that a run's LocalQueue leads to, where both are in the input.
cluster_queue(run) := found[0] if {
	local := local_queue_object(run)
	found := [cluster_queue |
		some cluster_queue in lib.objects_named("kueue.x-k8s.io", "ClusterQueue", local.spec.clusterQueue)
	]
	count(found) > 0
}

# The AdmissionChecks of a ClusterQueue: where each is named, and its name.
checks(queue) := object.union(
	{["spec", "admissionChecks", n]: name | some n, name in queue.spec.admissionChecks},
	{["spec", "admissionChecksStrategy", "admissionChecks", n, "name"]: check.name | some n, check in queue.spec.admissionChecksStrategy.admissionChecks},
)

# The resources that any ClusterQueue of the input gives out.
covered := {resource |
	some queue in lib.objects("kueue.x-k8s.io", "ClusterQueue")
	some group in queue.spec.resourceGroups
	some resource in group.coveredResources
}

# What a pod template asks of Kueue's topologies, by annotations of its own metadata.
topology_annotations := {
	"required": "kueue.x-k8s.io/podset-required-topology",
	"preferred": "kueue.x-k8s.io/podset-preferred-topology",
	"unconstrained": "kueue.x-k8s.io/podset-unconstrained-topology",
	"slice": "kueue.x-k8s.io/podset-slice-required-topology",
	"slice size": "kueue.x-k8s.io/podset-slice-size",
	"slices": "kueue.x-k8s.io/podset-slice-required-topology-constraints",
	"group": "kueue.x-k8s.io/podset-group-name",
}

topology_request(g) := {what: value |
	some what, key in topology_annotations
	value := lib.template(g).metadata.annotations[key]
}

# The runs that Kueue places by their topology requests.
placed := [w |
	some w in runs
	lib.has_kueue
	not input.cluster.featureGates.TopologyAwareScheduling == false
	local_queue(w)
]

asks_for_topology(g) if count(topology_request(g)) > 0

# Kueue's own configuration, where a ConfigMap of the input holds it.
configurations := [{"object": i, "key": key, "content": content} |
	some i, manifest in lib.objects("", "ConfigMap")
	some key, text in manifest.data
	contains(text, "config.kueue.x-k8s.io/")
	yaml.is_valid(text)
	content := yaml.unmarshal(text)
	content.kind == "Configuration"
	startswith(content.apiVersion, "config.kueue.x-k8s.io/")
]

# --- Volcano ----------------------------------------------------------------------------------------------------

# Trainer makes a PodGroup for the run.
pod_group(workload) if workload.podGroupPolicy.volcano != null

# A pod template of the workload is left to Volcano's scheduler.
volcano_scheduled(workload) if {
	some job in workload.jobset.spec.replicatedJobs
	job.template.spec.template.spec.schedulerName == "volcano"
}

volcano(workload) if pod_group(workload)

volcano(workload) if volcano_scheduled(workload)

# The annotation that names the Volcano queue of a workload's PodGroup.
volcano_annotation(workload) := workload.jobset.metadata.annotations[annotation]

# The Volcano queue of a PodGroup: the annotation, else what the namespace says, else `default`.
volcano_queue(workload) := volcano_annotation(workload)

volcano_queue(workload) := object.get(namespace_queues, workload.namespace, "default") if {
	not volcano_annotation(workload)
}

namespace_queues[namespace.metadata.name] := namespace.metadata.annotations[annotation] if {
	some namespace in lib.objects("", "Namespace")
}

# --- amounts ----------------------------------------------------------------------------------------------------

# More than a limit, by more than numbers are inexact (the finest amounts are 1m of cpu).
exceeds(number, limit) if number - limit > 0.0001

# An amount as people write it: 0.5, 16, 256Gi.
amount(resource, number) := sprintf("%vGi", [round((number * 100) / 1073741824) / 100]) if {
	bytes(resource)
	number >= 1073741824
}

amount(resource, number) := sprintf("%vMi", [round((number * 100) / 1048576) / 100]) if {
	bytes(resource)
	number < 1073741824
}

amount(resource, number) := sprintf("%v", [round(number * 1000) / 1000]) if not bytes(resource)

# {"cpu": 4, "memory": 1073741824} as "4 cpu, 1Gi memory".
listed(amounts) := concat(", ", [sprintf("%s %s", [amount(resource, amounts[resource]), resource]) | some resource in sort(object.keys(amounts))])

bytes(resource) if resource in {"memory", "ephemeral-storage"}

bytes(resource) if startswith(resource, "hugepages-")

# Where a pod template asks for a resource: the first container's request, else limit.
request_path(g, resource) := found[0] if {
	found := _request_paths(g, resource)
	count(found) > 0
}

request_path(g, resource) := lib.pod_path(g, ["containers", 0, "resources", "requests", resource]) if {
	count(_request_paths(g, resource)) == 0
}

_request_paths(g, resource) := [lib.pod_path(g, [list, i, "resources", side, resource]) |
	some list in ["containers", "initContainers"]
	some side in ["requests", "limits"]
	some i, container in object.get(lib.pod_spec(g), list, [])
	container.resources[side][resource]
]

# The number of pods of a replicatedJob.
parallelism_path(pod) := ["spec", "replicatedJobs", pod.replicatedJob, "template", "spec", "parallelism"]

# The pods of a workload that ask for most of a resource.
largest(workload, resource) := [pod |
	some pod in workload.pods
	total(pod, resource) == max([total(other, resource) | some other in workload.pods])
][0]

total(pod, resource) := object.get(pod.requests, resource, 0) * pod.count if resource != "pods"

total(pod, "pods") := pod.count
