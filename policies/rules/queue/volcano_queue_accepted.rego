# METADATA
# title: Volcano accepts its queues
# description: |
#   What no schema says, but Volcano's webhook: guarantee is at most deserved and both are at most capability, where a
#   resource that a list does not name counts as 0 (so a guarantee needs a deserved, and deserved no resource that capability
#   leaves out); a parent exists, and its children have no more capability, and together no more deserved and guarantee,
#   than it has. The Queue is refused on the cluster, and the runs that name it get no PodGroup.
# related_resources:
# - ref: https://github.com/volcano-sh/volcano/blob/v1.14.1/pkg/webhooks/admission/queues/validate/validate_queue.go
# - ref: https://volcano.sh/en/docs/queue/
# custom:
#   symptoms:
#   - "deserved should less equal than capability"
#   - "guarantee should less equal than deserved"
#   - "exceeds parent queue"
#   severity: error
#   needs: cluster
#   seen:
#   - "lab: tests/lab/test_queues.py::test_queues_that_are_refused"
#   - "lab: tests/lab/test_queues.py::test_children_that_are_refused"
#   - "source: volcano pkg/webhooks/admission/queues/validate/validate_queue.go"
#   fix: "Name the same resources in guarantee, deserved and capability, each no larger than the next; give a parent that has children with a capability one of its own."
#   example: |
#     apiVersion: scheduling.volcano.sh/v1beta1
#     kind: Queue
#     metadata: {name: simulation}
#     spec:
#       guarantee: {resource: {nvidia.com/gpu: "8"}}  # and no deserved
#       capability: {nvidia.com/gpu: "16"}
package rules.queue.volcano_queue_accepted

import data.lib
import data.lib.queueing

report contains lib.at(i, ["spec", "deserved"], sprintf("deserved (%s) is more than capability (%s)", [queueing.listed(over), shown(capability(queue), over)])) if {
	some i, queue in queues
	count(capability(queue)) > 0
	over := beyond(deserved(queue), capability(queue))
	count(over) > 0
}

report contains lib.at(i, ["spec", "guarantee", "resource"], sprintf("guarantee (%s) is more than %s (%s)", [queueing.listed(over), name, shown(limit, over)])) if {
	some i, queue in queues
	some [name, limit] in array.concat([["deserved", deserved(queue)]], [["capability", c] | c := capability(queue); count(c) > 0])
	over := beyond(guarantee(queue), limit)
	count(over) > 0
}

report contains lib.at(i, ["spec", "parent"], sprintf("the parent Queue %s does not exist (there is: %s)", [parent(queue), lib.names("scheduling.volcano.sh", "Queue", "")])) if {
	some i, queue in queues
	not lib.exists("scheduling.volcano.sh", "Queue", "", parent(queue))
}

report contains lib.at(i, ["spec", "parent"], "the Queue is its own parent") if {
	some i, queue in queues
	parent(queue) == queue.metadata.name
}

report contains lib.at(i, ["spec", "capability"], sprintf("capability (%s) is more than that of the parent Queue %s (%s)", [queueing.listed(over), parent(queue), shown(capability(above), over)])) if {
	some i, queue in queues
	some above in queues
	above.metadata.name == parent(queue)
	over := beyond(capability(queue), capability(above))
	count(over) > 0
}

report contains lib.at(i, ["spec", field], sprintf("%s of its child Queues together (%s) is more than its %s (%s)", [field, queueing.listed(over), of, shown(limit, over)])) if {
	some i, queue in queues
	children := [child | some child in queues; parent(child) == queue.metadata.name]
	count(children) > 0
	some field in ["deserved", "guarantee"]
	[of, limit] := limits(queue, field)
	together := {resource: n |
		some child in children
		some resource, _ in amounts(child, field)
		n := sum([object.get(amounts(each, field), resource, 0) | some each in children])
	}
	over := beyond(together, limit)
	count(over) > 0
}

queues := lib.objects("scheduling.volcano.sh", "Queue")

# `root` is Volcano's own and has no limits.
parent(queue) := name if {
	name := queue.spec.parent
	not name in {"", "root"}
}

limits(queue, field) := [field, amounts(queue, field)] if count(amounts(queue, field)) > 0

limits(queue, field) := ["capability", capability(queue)] if {
	count(amounts(queue, field)) == 0
	count(capability(queue)) > 0
}

amounts(queue, "deserved") := deserved(queue)

amounts(queue, "guarantee") := guarantee(queue)

capability(queue) := numbers(object.get(queue.spec, "capability", {}))

deserved(queue) := numbers(object.get(queue.spec, "deserved", {}))

guarantee(queue) := numbers(object.get(queue.spec, ["guarantee", "resource"], {}))

# Volcano counts no quotas of objects, and leaves out some devices of its own.
numbers(list) := {resource: lib.quantity(amount) |
	some resource, amount in list
	not startswith(resource, "count/")
	not startswith(resource, "volcano.sh/")
}

beyond(some_amounts, limit) := {resource: n |
	some resource, n in some_amounts
	queueing.exceeds(n, object.get(limit, resource, 0))
}

shown(limit, over) := queueing.listed({resource: object.get(limit, resource, 0) | some resource, _ in over})
