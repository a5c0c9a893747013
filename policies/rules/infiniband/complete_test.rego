package rules_test.infiniband.complete

import data.lib
import data.rules.infiniband.complete
import data.rules_test.runs

annotation := "k8s.v1.cni.cncf.io/networks"

annotations := sprintf("%s/metadata/annotations", [runs.template])

capabilities := sprintf("%s/securityContext/capabilities", [runs.node])

at_annotation := array.concat(runs.template_path, ["metadata", "annotations", annotation])

at_lock := array.concat(runs.node_path, ["securityContext", "capabilities", "add"])

unannotated := json.patch(runs.infiniband, [runs.set(annotations, {})])

unlocked := json.patch(runs.infiniband, [runs.set(capabilities, {"drop": ["ALL"]})])

deviceless := json.patch(runs.infiniband, [runs.set(sprintf("%s/resources", [runs.node]), {"limits": {"nvidia.com/gpu": "8"}})])

without_facts(from) := json.patch(from, [runs.set("/cluster", null)])

no_annotation(resource, severity) := {object.union(
	lib.in_workload({"index": 0}, at_annotation, sprintf("%s is asked for without the annotation k8s.v1.cni.cncf.io/networks on the pod template: the pod gets no interface for it", [resource])),
	{"severity": severity},
)}

no_lock := {lib.in_workload({"index": 0}, at_lock, "nvidia.com/hostdev is asked for without the capability IPC_LOCK: the container cannot lock memory for it")}

misplaced(path, place) := {lib.in_workload({"index": 0}, path, sprintf("nvidia.com/hostdev is asked for, and the annotation k8s.v1.cni.cncf.io/networks stands on %s instead of the pod template: the pod gets no interface for it", [place]))}

test_fail_no_annotation if complete.report == no_annotation("nvidia.com/hostdev", "error") with input as unannotated

test_fail_no_annotation_without_facts if complete.report == no_annotation("nvidia.com/hostdev", "error") with input as without_facts(unannotated)

test_fail_shared_device_without_facts if {
	complete.report == no_annotation("rdma/a", "warning") with input as json.patch(without_facts(unannotated), [runs.set(sprintf("%s/resources", [runs.node]), {"limits": {"rdma/a": "1"}})])
}

test_fail_annotation_on_job_template if {
	complete.report == misplaced(["spec", "replicatedJobs", 0, "template", "metadata", "annotations", annotation], "the Job template") with input as json.patch(unannotated, [runs.set(sprintf("%s/metadata/annotations", [runs.job]), {annotation: "hostdevice-net"})])
}

test_fail_annotation_on_jobset if {
	complete.report == misplaced(["metadata", "annotations", annotation], "the JobSet") with input as json.patch(unannotated, [runs.set("/workloads/0/jobset/metadata/annotations", {annotation: "hostdevice-net"})])
}

test_fail_no_lock if complete.report == no_lock with input as unlocked

test_fail_no_lock_without_facts if complete.report == no_lock with input as without_facts(unlocked)

test_fail_no_device if {
	complete.report == {lib.in_workload({"index": 0}, at_annotation, "network hostdevice-net is attached, and the pods ask for no nvidia.com/hostdev: the training has no device")} with input as deviceless
}

test_fail_device_of_an_init_container if {
	fetch := {"name": "fetch", "resources": {"limits": {"nvidia.com/hostdev": "1"}}}
	message := "network hostdevice-net is attached, and no nvidia.com/hostdev is asked for by container node, only by init container fetch: the training has no device"
	complete.report == {lib.in_workload({"index": 0}, at_annotation, message)} with input as json.patch(deviceless, [runs.set(sprintf("%s/spec/initContainers", [runs.template]), [fetch])])
}

test_fail_no_device_and_annotation_too_high if {
	path := ["spec", "replicatedJobs", 0, "template", "metadata", "annotations", annotation]
	complete.report == {lib.in_workload({"index": 0}, path, "network hostdevice-net is asked for on the Job template, which reaches no pod, and the pods ask for no nvidia.com/hostdev")} with input as json.patch(deviceless, [
		runs.set(annotations, {}),
		runs.set(sprintf("%s/metadata/annotations", [runs.job]), {annotation: "hostdevice-net"}),
	])
}

lone_lock(severity) := {object.union(
	lib.in_workload({"index": 0}, at_lock, "IPC_LOCK is added without a network annotation, and the pods ask for no nvidia.com/hostdev: NCCL finds no InfiniBand"),
	{"severity": severity},
)}

test_fail_lock_alone if complete.report == lone_lock("error") with input as json.patch(deviceless, [runs.set(annotations, {})])

test_fail_lock_alone_with_infiniband_off if {
	complete.report == lone_lock("warning") with input as json.patch(deviceless, [runs.set(annotations, {}), runs.set(sprintf("%s/env/1/value", [runs.node]), "1")])
}

test_success_complete if {
	complete.report == set() with input as runs.infiniband
	complete.report == set() with input as runs.jobset(runs.infiniband)
	complete.report == set() with input as without_facts(runs.infiniband)
}

test_success_absent if {
	complete.report == set() with input as runs.kueue
	complete.report == set() with input as json.patch(runs.infiniband, [runs.set("/workloads", runs.kueue.workloads)])
}

test_success_other_network if complete.report == set() with input as json.patch(runs.infiniband, [runs.set("/workloads", runs.kueue.workloads), runs.set(annotations, {annotation: "storage-net"})])

test_success_privileged if complete.report == set() with input as json.patch(unlocked, [runs.set(sprintf("%s/securityContext/privileged", [runs.node]), true)])

test_success_host_network if complete.report == set() with input as json.patch(unannotated, [runs.set(sprintf("%s/hostNetwork", [runs.pod]), true)])

# Only the container that gets the device needs the capability.
test_success_sidecar if complete.report == set() with input as json.patch(runs.infiniband, [runs.set(sprintf("%s/containers/-", [runs.pod]), {"name": "logs"})])

# A TrainJob may give the device.
test_success_unused_runtime if complete.report == set() with input as json.patch(deviceless, [runs.set("/workloads/0/kind", "ClusterTrainingRuntime")])
