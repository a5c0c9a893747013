# METADATA
# title: A run keeps the LimitRanges of its namespace
# description: |
#   The API server refuses a pod of which a container, or the whole, asks for more or less than a LimitRange of its
#   namespace allows: its Job makes none. Kueue reads the same before and leaves the Workload pending for ever; of a ratio,
#   and of a pod's limits, it takes no notice, so that such a run is admitted and holds its quota without a pod.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/policy/limit-range/
#   description: what a LimitRange limits
# custom:
#   symptoms:
#   - "pods are forbidden: maximum memory usage per Container is"
#   - "resources didn't satisfy LimitRange constraints"
#   seen:
#   - "lab: tests/lab/test_admitted.py::test_a_container_above_the_range_of_its_namespace_is_not_made"
#   - "lab: tests/lab/test_admitted.py::test_a_container_out_of_the_range_of_its_namespace_is_not_admitted"
#   - "lab: tests/lab/test_admitted.py::test_a_container_out_of_the_ratio_of_its_namespace_is_admitted_and_not_made"
#   - "source: kubernetes plugin/pkg/admission/limitranger/admission.go"
#   - "source: kueue pkg/workload/resources.go"
#   - "source: kueue pkg/util/limitrange/limitrange.go"
#   severity: error
#   fix: "Ask for what the LimitRange allows (trainer.resourcesPerNode, or the runtime's container), or change the LimitRange."
#   example: |
#     kind: LimitRange
#     metadata: {name: small, namespace: vision}
#     spec: {limits: [{type: Container, max: {memory: 64Gi}}]}  # and the container `node` has 192Gi
package rules.resources.limit_range

import data.lib
import data.lib.queueing

report contains lib.in_workload(p.workload, array.concat(c.path, ["resources", side, resource]), message) if {
	some p in pods
	some range in lib.limit_ranges(p.workload, "Container")
	some c in lib.pod_containers(p)
	some side in ["limits", "requests"]
	some resource, asked in c.container.resources[side]
	some bound in ["max", "min"]
	outside(bound, lib.quantity(asked), lib.quantity(range.item[bound][resource]))
	not same_as_limit(c.container, side, resource)
	message := sprintf("container %s has %s %s, and LimitRange %s of namespace %s allows %s %s: no pod is made", [
		c.container.name,
		queueing.amount(resource, lib.quantity(asked)),
		resource,
		range.name,
		p.workload.namespace,
		bounds[bound],
		queueing.amount(resource, lib.quantity(range.item[bound][resource])),
	])
}

report contains lib.in_workload(p.workload, array.concat(c.path, ["resources", "limits", resource]), message) if {
	some p in pods
	some range in lib.limit_ranges(p.workload, "Container")
	some c in lib.pod_containers(p)
	some resource, most in range.item.maxLimitRequestRatio
	limit := lib.quantity(c.container.resources.limits[resource])
	request := lib.quantity(c.container.resources.requests[resource])
	request > 0
	queueing.exceeds(limit / request, lib.quantity(most))
	message := sprintf("container %s has a limit of %v times its request of %s, and LimitRange %s of namespace %s allows %v: no pod is made", [
		c.container.name,
		round((limit / request) * 100) / 100,
		resource,
		range.name,
		p.workload.namespace,
		most,
	])
}

# All containers of a pod; the overhead of a runtime class, which not everyone counts here, is left to others.
report contains lib.in_workload(p.workload, queueing.request_path(p, resource), message) if {
	some p in pods
	not lib.pod_spec(p).overhead
	not lib.pod_spec(p).runtimeClassName
	some range in lib.limit_ranges(p.workload, "Pod")
	some bound in ["max", "min"]
	some resource, amount in range.item[bound]
	asked := pod_amounts(p, bound)[resource]
	outside(bound, asked, lib.quantity(amount))
	message := sprintf("a pod has %s %s, and LimitRange %s of namespace %s allows %s %s: no pod is made", [
		queueing.amount(resource, asked),
		resource,
		range.name,
		p.workload.namespace,
		bounds[bound],
		queueing.amount(resource, lib.quantity(amount)),
	])
}

bounds := {"max": "at most", "min": "at least"}

outside("max", asked, most) if queueing.exceeds(asked, most)

outside("min", asked, least) if queueing.exceeds(least, asked)

same_as_limit(container, "requests", resource) if lib.quantity(container.resources.limits[resource]) == lib.quantity(container.resources.requests[resource])

# What a pod may use at most; at least, where nothing fills in what a container leaves open.
pod_amounts(p, "max") := object.union(p.pod.requests, p.pod.limits)

pod_amounts(p, "min") := p.pod.requests if count(lib.limit_ranges(p.workload, "Container")) == 0

pods := [{"workload": w, "pod": pod} | some w in queueing.here; some pod in w.pods; pod.count > 0]
