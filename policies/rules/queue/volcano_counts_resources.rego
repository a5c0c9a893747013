# METADATA
# title: A PodGroup counts every resource that its pods ask for
# description: |
#   Trainer adds up the PodGroup's minResources from the requests of the templates, before any pod exists: the API server,
#   which fills in a missing request from the limit, has not seen them. What stands in limits only is missing there.
#   Volcano then enqueues a gang for whose GPUs the queue has no room: no pod of it runs, and the cpu and memory that its
#   PodGroup does count are kept from the other gangs of the queue, which are held although nobody uses them.
# related_resources:
# - ref: https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/runtime/framework/plugins/volcano/volcano.go
# - ref: https://github.com/volcano-sh/volcano/blob/v1.14.1/pkg/scheduler/plugins/proportion/proportion.go
# custom:
#   symptoms:
#   - "a PodGroup is Inqueue and does not run, and a smaller one is held: queue resource quota insufficient"
#   seen:
#   - "lab: tests/lab/test_queues.py::test_a_gang_whose_limits_are_not_counted_holds_what_it_does_not_use"
#   - "lab: tests/lab/test_gate_and_cluster.py::test_a_gang_whose_limits_are_not_counted_is_enqueued_above_the_capability"
#   - "source: trainer pkg/runtime/runtime.go"
#   - "source: trainer pkg/runtime/framework/plugins/volcano/volcano.go"
#   - "source: volcano pkg/scheduler/plugins/proportion/proportion.go"
#   severity: warning
#   fix: "Write the resource in requests as well, as much as in limits."
#   example: |
#     # the runtime has podGroupPolicy: {volcano: {}}, and names no GPUs
#     kind: TrainJob
#     spec:
#       trainer:
#         resourcesPerNode:
#           requests: {cpu: "64", memory: 512Gi}
#           limits: {memory: 512Gi, nvidia.com/gpu: "8"}
package rules.queue.volcano_counts_resources

import data.lib
import data.lib.queueing

report contains lib.in_workload(w, array.concat(each.path, ["resources", "limits", sort(missing)[0]]), message) if {
	some w in queueing.sized
	queueing.pod_group(w)
	some pod in w.pods
	g := {"workload": w, "pod": pod}
	some each in lib.pod_containers(g)
	beside_the_others(each)
	missing := uncounted(lib.pod_spec(g), each.container)
	count(missing) > 0
	message := sprintf("the PodGroup does not count %s, which %s in limits only: Volcano enqueues the gang where the queue has no room for it, and holds others for what it does not use", [
		lib.joined(missing),
		{true: "stands", false: "stand"}[count(missing) == 1],
	])
}

# The largest of the other init containers counts only where it is above these.
beside_the_others(each) if each.rest[0] == "containers"

beside_the_others(each) if each.container.restartPolicy == "Always"

# What a container has a limit and no request of, unless the pod itself requests it.
uncounted(spec, container) := {resource |
	some resource, limit in container.resources.limits
	lib.quantity(limit) > 0
	not container.resources.requests[resource]
	not spec.resources.requests[resource]
}
