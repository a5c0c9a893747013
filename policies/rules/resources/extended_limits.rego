# METADATA
# title: Extended resources stand in limits, as whole numbers, equal to the requests
# description: |
#   GPUs, fabric devices and hugepages cannot be overcommitted: the API server refuses a pod that requests one without
#   a limit, or with another amount. TrainJob and JobSet are accepted, and Kueue holds quota for them; the Job is refused,
#   no pod appears, and the JobSet has an event JobCreationFailed "Limit must be set for non overcommitable resources".
# related_resources:
# - ref: https://github.com/kubeflow/trainer/issues/2363
# - ref: https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#extended-resources
# custom:
#   symptoms:
#   - "Limit must be set for non overcommitable resources"
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_what_is_refused_later_makes_no_job"
#   - "source: kubernetes pkg/apis/core/validation/validation.go"
#   severity: error
#   fix: "Write the resource in limits with a whole number; the request is then the same by default, or write it equal."
#   example: |
#     kind: TrainJob
#     metadata: {name: resnet}
#     spec:
#       runtimeRef: {name: tf-resnet}
#       trainer:
#         resourcesPerNode:
#           requests: {nvidia.com/gpu: "8"}  # no limit
package rules.resources.extended_limits

import data.lib

report contains finding if {
	some c in containers
	some resource, amount in c.requests
	not_overcommitable(resource)
	not c.limits[resource]
	finding := object.union(
		lib.in_workload(c.workload, array.concat(c.path, ["resources", "limits", resource]), sprintf("%s is requested (%v) without a limit: no pod can be made", [resource, amount])),
		{"severity": severity(c.workload)},
	)
}

report contains finding if {
	some c in containers
	some resource, amount in c.requests
	not_overcommitable(resource)
	limit := c.limits[resource]
	lib.quantity(amount) != lib.quantity(limit)
	finding := lib.in_workload(c.workload, array.concat(c.path, ["resources", "requests", resource]), sprintf("%s is requested as %v and limited to %v, and must be equal: no pod can be made", [resource, amount, limit]))
}

report contains finding if {
	some c in containers
	some side in ["requests", "limits"]
	some resource, amount in c[side]
	lib.extended(resource)
	number := lib.quantity(amount)
	not whole(number)
	finding := lib.in_workload(c.workload, array.concat(c.path, ["resources", side, resource]), sprintf("%s is %v and must be a whole number: no pod can be made", [resource, amount]))
}

# Every container of every pod template, with what it asks for.
containers := [{
	"workload": g.workload,
	"path": lib.pod_path(g, [list, i]),
	"requests": object.get(container, ["resources", "requests"], {}),
	"limits": object.get(container, ["resources", "limits"], {}),
} |
	some g in lib.all_pods
	some list in ["containers", "initContainers"]
	some i, container in object.get(lib.pod_spec(g), list, [])
]

# A TrainJob may still give an unused runtime its limits.
severity(workload) := "error" if workload.kind in {"TrainJob", "JobSet"}

severity(workload) := "warning" if not workload.kind in {"TrainJob", "JobSet"}

not_overcommitable(resource) if lib.extended(resource)

not_overcommitable(resource) if startswith(resource, "hugepages-")

whole(number) if {
	number >= 0
	number == floor(number)
}
