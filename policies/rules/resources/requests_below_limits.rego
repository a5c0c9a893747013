# METADATA
# title: No request is above its limit
# description: |
#   The API server refuses a pod whose request of cpu, memory or ephemeral-storage is above the limit. The objects above
#   the pod are accepted, the pods never appear. It happens where a TrainJob raises the requests of a runtime
#   (merged per resource from Trainer 2.3 on) and not its limits.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/
# custom:
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_what_is_refused_later_makes_no_job"
#   - "source: kubernetes pkg/apis/core/validation/validation.go"
#   severity: error
#   fix: "Raise the limit to the request, or lower the request; write both in the TrainJob's resourcesPerNode."
#   example: |
#     kind: TrainJob
#     metadata: {name: resnet}
#     spec:
#       runtimeRef: {name: tf-resnet}  # its limit is 256Gi
#       trainer:
#         resourcesPerNode:
#           requests: {memory: 512Gi}
package rules.resources.requests_below_limits

import data.lib

report contains lib.in_workload(g.workload, path, sprintf("%s is requested as %v, above its limit %v: no pod can be made", [resource, request, limit])) if {
	some g in lib.all_pods
	some list in ["containers", "initContainers"]
	some i, container in object.get(lib.pod_spec(g), list, [])
	some resource, request in container.resources.requests
	resource in {"cpu", "memory", "ephemeral-storage"}
	limit := container.resources.limits[resource]
	lib.quantity(request) > lib.quantity(limit)
	path := lib.pod_path(g, [list, i, "resources", "requests", resource])
}
