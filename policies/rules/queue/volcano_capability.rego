# METADATA
# title: A gang fits the capability of its Volcano queue
# description: |
#   The PodGroup's minResources are the sum over all pods. Volcano enqueues a gang only if that fits spec.capability of
#   its Queue; more than that stays Pending for ever ("queue resource quota insufficient"). What capability does not
#   list is not limited.
# related_resources:
# - ref: https://github.com/volcano-sh/volcano/issues/3220
# - ref: https://github.com/volcano-sh/volcano/blob/v1.14.1/pkg/scheduler/plugins/proportion/proportion.go
# custom:
#   severity: error
#   needs: cluster
#   fix: "Ask for fewer nodes (trainer.numNodes) or less on each (trainer.resourcesPerNode), or raise the Queue's capability."
#   example: |
#     apiVersion: scheduling.volcano.sh/v1beta1
#     kind: Queue
#     metadata: {name: simulation}
#     spec: {capability: {nvidia.com/gpu: "16"}}  # and a gang of 4 pods of 8 GPUs
package rules.queue.volcano_capability

import data.lib
import data.lib.queueing

report contains lib.in_workload(w, queueing.parallelism_path(queueing.largest(w, most)), message) if {
	lib.has_volcano
	some w in queueing.sized
	queueing.pod_group(w)
	some queue in lib.objects("scheduling.volcano.sh", "Queue")
	queue.metadata.name == queueing.volcano_queue(w)
	over := {resource: limit |
		some resource, quantity in queue.spec.capability
		limit := lib.quantity(quantity)
		limited(resource, limit)
		queueing.exceeds(object.get(w.demand, resource, 0), limit)
	}
	most := sort([r | some r, _ in over])[0]
	message := sprintf("%d pods need %s, more than the capability of Volcano Queue %s (%s): the gang is never enqueued", [
		sum([pod.count | some pod in w.pods]),
		queueing.listed({r: w.demand[r] | some r, _ in over}),
		queue.metadata.name,
		queueing.listed(over),
	])
}

# Volcano takes cpu and memory of 0 for no limit.
limited(resource, limit) if {
	resource in {"cpu", "memory"}
	limit > 0
}

limited(resource, _) if not resource in {"cpu", "memory", "pods"}
