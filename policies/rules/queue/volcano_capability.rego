# METADATA
# title: A gang fits the capability of its Volcano queue
# description: |
#   The PodGroup's minResources are the sum over all pods. Volcano enqueues a gang only if that fits spec.capability of
#   its Queue; more than that stays Pending for ever ("queue resource quota insufficient"). A resource that stands in
#   limits only is not in minResources: such a gang is Inqueue, and its pods stay Pending all the same. What capability
#   does not list is limited only by what the nodes have, less the guarantees of all other queues, which nobody else may
#   use even while they are idle.
# related_resources:
# - ref: https://github.com/volcano-sh/volcano/issues/3220
# - ref: https://github.com/volcano-sh/volcano/blob/v1.14.1/pkg/scheduler/plugins/proportion/proportion.go
# custom:
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_a_gang_above_the_capability_of_its_queue_is_never_enqueued"
#   - "lab: tests/lab/test_gate_and_cluster.py::test_a_gang_whose_limits_are_not_counted_is_enqueued_above_the_capability"
#   - "lab: tests/lab/test_cluster_queues.py::test_what_is_guaranteed_to_a_queue_is_kept_while_it_is_idle"
#   - "source: trainer pkg/runtime/framework/plugins/volcano/volcano.go"
#   - "source: volcano pkg/scheduler/plugins/proportion/proportion.go"
#   - "source: volcano pkg/scheduler/plugins/capacity/capacity.go"
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
import data.lib.pools
import data.lib.queueing

report contains lib.in_workload(w, queueing.parallelism_path(queueing.largest(w, most)), message) if {
	lib.has_volcano
	some w in queueing.sized
	queueing.pod_group(w)
	some queue in lib.objects_named("scheduling.volcano.sh", "Queue", queueing.volcano_queue(w))
	over := {resource: limit |
		some resource, quantity in queue.spec.capability
		limit := lib.quantity(quantity)
		limited(resource, limit)
		queueing.exceeds(object.get(w.demand, resource, 0), limit)
	}
	most := sort([r | some r, _ in over])[0]
	message := sprintf("%d pods need %s, more than the capability of Volcano Queue %s (%s): the gang never starts", [
		sum([pod.count | some pod in w.pods]),
		queueing.listed({r: w.demand[r] | some r, _ in over}),
		queue.metadata.name,
		queueing.listed(over),
	])
}

report contains lib.in_workload(w, queueing.parallelism_path(queueing.largest(w, resource)), message) if {
	lib.has_volcano
	count(input.cluster.nodes) > 0
	some w in queueing.runs
	queueing.pod_group(w)
	name := queueing.volcano_queue(w)
	some resource, needed in w.demand
	lib.extended(resource)
	there := sum([pools.all_of(pool, resource) | some pool in input.cluster.nodes])
	not queueing.exceeds(needed, there)
	promised := sum([guaranteed(queue, resource) | some queue in lib.objects("scheduling.volcano.sh", "Queue"); queue.metadata.name != name; leaf(queue)])
	promised > 0
	queueing.exceeds(needed, there - promised)
	message := sprintf("%d pods need %s, and of the %s that the nodes have other queues are guaranteed %s: the gang never starts in Volcano Queue %s", [
		sum([pod.count | some pod in w.pods]),
		queueing.listed({resource: needed}),
		queueing.amount(resource, there),
		queueing.amount(resource, promised),
		name,
	])
}

guaranteed(queue, resource) := lib.quantity(object.get(queue.spec, ["guarantee", "resource", resource], 0))

# The guarantees of child queues are part of their parent's.
leaf(queue) if object.get(queue.spec, "parent", "") in {"", "root"}

# Volcano takes cpu and memory of 0 for no limit.
limited(resource, limit) if {
	resource in {"cpu", "memory"}
	limit > 0
}

limited(resource, _) if not resource in {"cpu", "memory", "pods"}
