# METADATA
# title: The queue covers every resource that a run asks for
# description: |
#   Kueue admits a run only if a resource group of its ClusterQueue covers each requested resource. One that is in none
#   (a fabric device, ephemeral-storage) is "unavailable in ClusterQueue": the run is never admitted. What Kueue's own
#   configuration excludes (resources.excludeResourcePrefixes) counts only where that is in the input.
# related_resources:
# - ref: https://github.com/kubernetes-sigs/kueue/issues/9048
# - ref: https://github.com/kubernetes-sigs/kueue/blob/v0.17.0/pkg/scheduler/flavorassigner/flavorassigner.go
# custom:
#   symptoms:
#   - "resource … unavailable in ClusterQueue"
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_what_the_queue_cannot_take_is_never_admitted"
#   - "source: kueue pkg/scheduler/flavorassigner/flavorassigner.go"
#   - "source: kueue pkg/workload/resources.go"
#   severity: error
#   needs: cluster
#   fix: "Add the resource to coveredResources of the ClusterQueue, with a quota in every flavor of that group, or do not ask for it."
#   example: |
#     kind: ClusterQueue
#     metadata: {name: vision}
#     spec:
#       resourceGroups:
#       - coveredResources: [nvidia.com/gpu]  # cpu and memory, which every pod asks for, are in no group
#         flavors:
#         - {name: a100, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}
package rules.queue.resources_covered

import data.lib
import data.lib.queueing

report contains lib.in_workload(w, queueing.request_path({"workload": w, "pod": first}, resource), message) if {
	lib.has_kueue
	some w in queueing.sized
	queue := queueing.cluster_queue(w)
	some pod in w.pods
	some resource, amount in pod.requests
	resource != "pods"
	amount * pod.count > 0
	not resource in covers(queue)
	not excluded(resource)
	first := [p | some p in w.pods; object.get(p.requests, resource, 0) * p.count > 0][0]
	message := sprintf("%s is requested, and no resource group of ClusterQueue %s covers it (%s): the run is never admitted", [resource, queue.metadata.name, lib.joined([r | some r in covers(queue)])])
}

# A LimitRange of the namespace gives every container a request that nobody wrote.
report contains lib.at(i, array.concat(place, [resource]), message) if {
	lib.has_kueue
	some w in queueing.sized
	queue := queueing.cluster_queue(w)
	count(w.pods) > 0
	some i, range in lib.objects("", "LimitRange")
	object.get(range.metadata, "namespace", "") == w.namespace
	some n, item in range.spec.limits
	item.type == "Container"
	field := ["defaultRequest", "default"][_]
	some resource, amount in item[field]
	lib.quantity(amount) > 0
	not resource in covers(queue)
	not excluded(resource)
	every pod in w.pods { not pod.requests[resource] }
	place := ["spec", "limits", n, field]
	message := sprintf("every container gets a request of %v %s, and no resource group of ClusterQueue %s covers it (%s): no run of the namespace is admitted", [amount, resource, queue.metadata.name, lib.joined([r | some r in covers(queue)])])
}

covers(queue) := {resource |
	some group in queue.spec.resourceGroups
	some resource in group.coveredResources
}

excluded(resource) if {
	some configuration in queueing.configurations
	some prefix in configuration.content.resources.excludeResourcePrefixes
	startswith(resource, prefix)
}
