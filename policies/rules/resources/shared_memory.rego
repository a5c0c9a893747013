# METADATA
# title: Several GPUs in a pod have shared memory
# description: |
#   NCCL moves data between the GPUs of a pod through /dev/shm, which container runtimes make 64 MiB small: the first
#   collective ends with "posix_fallocate failed: No space left on device". An emptyDir that is not in memory works
#   at the speed of the disk.
# related_resources:
# - ref: https://github.com/NVIDIA/nccl/issues/525
# - ref: https://github.com/kubernetes/kubernetes/issues/76263
# custom:
#   symptoms:
#   - "Call to posix_fallocate failed: No space left on device"
#   - "Error while creating shared memory segment"
#   seen:
#   - "lab: tests/lab/test_claims.py::test_a_container_has_64_mib_of_shared_memory"
#   severity: error
#   fix: "Mount a volume `emptyDir: {medium: Memory, sizeLimit: 64Gi}` at /dev/shm in the container; it counts against the container's memory limit, so let it be well below that."
#   example: |
#     containers:
#     - name: node
#       resources: {limits: {nvidia.com/gpu: "8", memory: 200Gi}}
#       volumeMounts: []  # nothing at /dev/shm
package rules.resources.shared_memory

import data.lib
import data.lib.environment

report contains lib.in_workload(c.g.workload, lib.container_path(c.g, c.i, ["volumeMounts"]), sprintf("%v GPUs in the container and nothing mounted at /dev/shm: NCCL has 64 MiB of shared memory and fails", [c.gpus])) if {
	some c in candidates
	count(shm(c)) == 0
}

report contains object.union(lib.in_workload(c.g.workload, lib.pod_path(c.g, ["volumes", v, "emptyDir", "medium"]), "the volume at /dev/shm is not in memory: NCCL's shared memory is as slow as the disk"), {"severity": "warning"}) if {
	some c in candidates
	some name in shm(c)
	some v, volume in lib.pod_spec(c.g).volumes
	volume.name == name
	is_object(volume.emptyDir)
	object.get(volume.emptyDir, "medium", "") != "Memory"
}

# No more than what container runtimes give without a volume.
report contains lib.in_workload(c.g.workload, lib.pod_path(c.g, ["volumes", v, "emptyDir", "sizeLimit"]), sprintf("%v GPUs in the container and %v of shared memory at /dev/shm: NCCL needs more than 64 MiB and fails", [c.gpus, limit])) if {
	some c in candidates
	some name in shm(c)
	some v, volume in lib.pod_spec(c.g).volumes
	volume.name == name
	limit := volume.emptyDir.sizeLimit
	lib.quantity(limit) <= (64 * 1024) * 1024
}

# Containers of TensorFlow with more than one GPU that need /dev/shm.
candidates := [{"g": g, "i": i, "gpus": gpus} |
	some g in lib.tensorflow_pods
	some i, container in lib.containers(g)
	gpus := sum([lib.container_request(container, resource) | some resource in resources(container); gpu(resource)])
	gpus > 1
	object.get(lib.pod_spec(g), "hostIPC", false) != true
	not without_shm(g, i)
]

resources(container) := {resource |
	some side in ["requests", "limits"]
	some resource, _ in container.resources[side]
}

gpu(resource) if endswith(resource, "/gpu")

gpu(resource) if startswith(resource, "nvidia.com/mig-")

gpu(resource) if resource == "nvidia.com/gpu.shared"

# NCCL was told to use no shared memory.
without_shm(g, i) if environment.variable(g, i, "NCCL_SHM_DISABLE").value == "1"

# The volumes that a container mounts at /dev/shm.
shm(c) := {mount.name |
	some mount in lib.containers(c.g)[c.i].volumeMounts
	trim_right(mount.mountPath, "/") == "/dev/shm"
}
