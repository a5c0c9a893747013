# METADATA
# title: Shared memory leaves room below the memory limit
# description: |
#   What is written to an emptyDir in memory counts against the container's memory limit. With a sizeLimit as large as
#   the limit the shared memory can take all of it: the kernel kills the worker, and with it the whole gang.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/storage/volumes/#emptydir
# custom:
#   seen:
#   - "lab: tests/lab/test_claims.py::test_what_is_written_to_shared_memory_counts_against_the_memory_limit"
#   - "source: kubernetes staging/src/k8s.io/api/core/v1/types.go"
#   severity: error
#   fix: "Keep sizeLimit well below the container's memory limit: limit = heap + sizeLimit."
#   example: |
#     containers:
#     - name: node
#       resources: {limits: {memory: 64Gi}}
#       volumeMounts: [{name: shm, mountPath: /dev/shm}]
#     volumes:
#     - {name: shm, emptyDir: {medium: Memory, sizeLimit: 64Gi}}
package rules.resources.shared_memory_below_limit

import data.lib

report contains lib.in_workload(g.workload, path, sprintf("sizeLimit of the shared memory is %v and the container's memory limit %v: full shared memory gets the worker killed", [volume.emptyDir.sizeLimit, limit])) if {
	some g in lib.tensorflow_pods
	some container in lib.containers(g)
	limit := container.resources.limits.memory
	some mount in container.volumeMounts
	trim_right(mount.mountPath, "/") == "/dev/shm"
	some v, volume in lib.pod_spec(g).volumes
	volume.name == mount.name
	volume.emptyDir.medium == "Memory"
	lib.quantity(volume.emptyDir.sizeLimit) >= lib.quantity(limit)
	path := lib.pod_path(g, ["volumes", v, "emptyDir", "sizeLimit"])
}
