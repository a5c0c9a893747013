# METADATA
# title: A run fits the quota that its queue can ever have
# description: |
#   Kueue admits all pods of a run at once, and all pods of one replicatedJob from one flavor. What exceeds the nominal
#   quota of every flavor, with all that its cohort lends, is never admitted and waits without an end.
# related_resources:
# - ref: https://github.com/kubernetes-sigs/kueue/issues/11720
# - ref: https://github.com/kubernetes-sigs/kueue/blob/v0.17.0/pkg/scheduler/flavorassigner/flavorassigner.go
# custom:
#   symptoms:
#   - "insufficient quota, for ever"
#   seen:
#   - "lab: tests/lab/test_queues.py::test_runs_that_are_never_admitted"
#   - "lab: tests/lab/test_queues.py::test_a_limit_of_an_inner_cohort_that_does_not_bind"
#   - "lab: tests/lab/test_gate_and_cluster.py::test_what_the_queue_cannot_take_is_never_admitted"
#   - "lab: tests/lab/test_faults.py::test_kueue_starts_no_part_of_a_gang"
#   - "source: kueue pkg/scheduler/flavorassigner/flavorassigner.go"
#   - "source: kueue pkg/workload/resources.go"
#   severity: error
#   needs: cluster
#   fix: "Ask for fewer nodes (trainer.numNodes) or less on each (trainer.resourcesPerNode), or raise the ClusterQueue's quota to what the cluster has."
#   example: |
#     kind: TrainJob
#     metadata: {name: resnet, labels: {kueue.x-k8s.io/queue-name: daytime}}
#     spec:
#       runtimeRef: {name: tf-resnet}
#       trainer: {numNodes: 4}  # 4 nodes of 8 GPUs, and the ClusterQueue has 16
package rules.queue.within_quota

import data.lib
import data.lib.queueing
import data.lib.quota

# No flavor has room for all pods of one replicatedJob.
report contains lib.in_workload(w, queueing.parallelism_path(pod), message) if {
	lib.has_kueue
	some w in queueing.sized
	queue := queueing.cluster_queue(w)
	some pod in w.pods
	some group in queue.spec.resourceGroups
	full(queue, group, pod)
	lacking := {resource | some flavor in group.flavors; some resource in short(queue, group, flavor.name, pod)}
	message := sprintf("%d pods need %s, more than ClusterQueue %s can ever give (%s): the run is never admitted", [
		pod.count,
		queueing.listed({r: queueing.total(pod, r) | some r in lacking}),
		queue.metadata.name,
		concat("; ", [limits(queue, flavor.name, short(queue, group, flavor.name, pod)) | some flavor in group.flavors]),
	])
}

# Each replicatedJob fits a flavor, but not all together.
report contains lib.in_workload(w, queueing.parallelism_path(queueing.largest(w, resource)), message) if {
	lib.has_kueue
	some w in queueing.sized
	queue := queueing.cluster_queue(w)
	some group in queue.spec.resourceGroups
	not any_full(queue, group, w)
	some resource in group.coveredResources
	needed := sum([queueing.total(pod, resource) | some pod in w.pods])
	most := sum([quota.capacity(queue, flavor.name, resource) | some flavor in group.flavors])
	queueing.exceeds(needed, most)
	message := sprintf("all pods together need %s, and ClusterQueue %s can give at most %s: the run is never admitted", [
		queueing.listed({resource: needed}),
		queue.metadata.name,
		queueing.amount(resource, most),
	])
}

# What only unknown members of the cohort could lend.
report contains object.union(lib.in_workload(w, queueing.parallelism_path(pod), message), {"severity": "warning"}) if {
	lib.has_kueue
	some w in queueing.sized
	queue := queueing.cluster_queue(w)
	some pod in w.pods
	some group in queue.spec.resourceGroups
	not full(queue, group, pod)
	every flavor in group.flavors { count(borrowed(queue, group, flavor.name, pod)) > 0 }
	lacking := {resource | some flavor in group.flavors; some resource in borrowed(queue, group, flavor.name, pod)}
	message := sprintf("%d pods need %s, more than ClusterQueue %s has of its own, and no other member of cohort %s is known that could lend it", [
		pod.count,
		queueing.listed({r: queueing.total(pod, r) | some r in lacking}),
		queue.metadata.name,
		quota.cohort(queue),
	])
}

borrowed(queue, group, flavor, pod) := {resource |
	some resource in group.coveredResources
	quota.lenders_missing(queue, flavor, resource)
	queueing.exceeds(queueing.total(pod, resource), quota.nominal(queue, flavor, resource))
}

full(queue, group, pod) if {
	count(group.flavors) > 0
	every flavor in group.flavors { count(short(queue, group, flavor.name, pod)) > 0 }
}

any_full(queue, group, w) if {
	some pod in w.pods
	full(queue, group, pod)
}

# The resources of a group that a flavor can never give to all pods of a replicatedJob.
short(queue, group, flavor, pod) := {resource |
	some resource in group.coveredResources
	queueing.exceeds(queueing.total(pod, resource), quota.capacity(queue, flavor, resource))
}

limits(queue, flavor, resources) := sprintf("flavor %s: at most %s", [
	flavor,
	queueing.listed({r: quota.capacity(queue, flavor, r) | some r in resources}),
])
