package rules_test.resources.shared_memory

import data.lib
import data.rules.resources.shared_memory
import data.rules_test.runs

mounts := sprintf("%s/volumeMounts", [runs.node])

limits := sprintf("%s/resources", [runs.node])

unmounted := json.patch(runs.kueue, [runs.drop(mounts)])

missing := {lib.in_workload({"index": 0}, array.concat(runs.node_path, ["volumeMounts"]), "8 GPUs in the container and nothing mounted at /dev/shm: NCCL has 64 MiB of shared memory and fails")}

test_fail_no_mount if shared_memory.report == missing with input as unmounted

test_fail_other_vendor if {
	shared_memory.report == missing with input as json.patch(unmounted, [runs.set(limits, {"limits": {"amd.com/gpu": "8"}})])
}

test_fail_mounted_elsewhere if {
	shared_memory.report == missing with input as json.patch(unmounted, [runs.set(mounts, [{"name": "shm", "mountPath": "/dev/shm2"}])])
}

test_fail_on_disk if {
	shared_memory.report == {object.union(
		lib.in_workload({"index": 0}, array.concat(runs.pod_path, ["volumes", 0, "emptyDir", "medium"]), "the volume at /dev/shm is not in memory: NCCL's shared memory is as slow as the disk"),
		{"severity": "warning"},
	)} with input as json.patch(runs.kueue, [runs.set(sprintf("%s/volumes/0/emptyDir", [runs.pod]), {})])
}

test_success_mounted if {
	shared_memory.report == set() with input as runs.kueue
	shared_memory.report == set() with input as json.patch(runs.kueue, [runs.set(sprintf("%s/0/mountPath", [mounts]), "/dev/shm/")])
}

test_success_hosts_memory if {
	shared_memory.report == set() with input as json.patch(runs.kueue, [runs.put(sprintf("%s/volumes/0", [runs.pod]), {"name": "shm", "hostPath": {"path": "/dev/shm"}})])
	shared_memory.report == set() with input as json.patch(unmounted, [runs.set(sprintf("%s/hostIPC", [runs.pod]), true)])
}

test_success_one_gpu if shared_memory.report == set() with input as json.patch(unmounted, [runs.set(limits, {"limits": {"nvidia.com/gpu": 1}})])

test_success_nccl_without_it if {
	shared_memory.report == set() with input as json.patch(unmounted, [runs.set(sprintf("%s/env/-", [runs.node]), {"name": "NCCL_SHM_DISABLE", "value": "1"})])
}

test_success_not_tensorflow if shared_memory.report == set() with input as json.patch(unmounted, [runs.set("/workloads/0/pods/0/tensorflow", false)])

sized(limit) := json.patch(runs.kueue, [runs.set(sprintf("%s/volumes/0/emptyDir/sizeLimit", [runs.pod]), limit)])

test_fail_no_more_than_the_default if {
	shared_memory.report == {lib.in_workload(
		{"index": 0},
		array.concat(runs.pod_path, ["volumes", 0, "emptyDir", "sizeLimit"]),
		"8 GPUs in the container and 64Mi of shared memory at /dev/shm: NCCL needs more than 64 MiB and fails",
	)} with input as sized("64Mi")
}

test_success_more_than_the_default if shared_memory.report == set() with input as sized("1Gi")
