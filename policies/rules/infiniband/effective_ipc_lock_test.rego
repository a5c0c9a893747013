package rules_test.infiniband.effective_ipc_lock

import data.lib
import data.rules.infiniband.effective_ipc_lock
import data.rules_test.runs

context := sprintf("%s/securityContext", [runs.pod])

own(name) := sprintf("%s/securityContext/%s", [runs.node, name])

pods(value) := json.patch(runs.infiniband, [runs.set(context, value)])

found(user) := {lib.in_workload({"index": 0}, array.concat(runs.node_path, ["securityContext", "capabilities", "add"]), sprintf("IPC_LOCK is added, and the container runs as %s: the capability has no effect, memory for nvidia.com/hostdev cannot be locked", [user]))}

test_fail_user_of_the_pod if effective_ipc_lock.report == found("user 1000") with input as pods({"runAsUser": 1000})

test_fail_user_of_the_container if {
	effective_ipc_lock.report == found("user 1000") with input as json.patch(pods({"runAsUser": 0}), [runs.set(own("runAsUser"), 1000)])
}

test_fail_not_root if effective_ipc_lock.report == found("another user than root (runAsNonRoot)") with input as pods({"runAsNonRoot": true})

test_fail_privileged if {
	effective_ipc_lock.report == found("user 1000") with input as json.patch(pods({"runAsUser": 1000}), [runs.set(own("privileged"), true), runs.drop(own("capabilities/add"))])
}

test_success_root if {
	effective_ipc_lock.report == set() with input as runs.infiniband
	effective_ipc_lock.report == set() with input as pods({"runAsUser": 0, "runAsNonRoot": false})
}

test_success_container_overrides_the_pod if {
	effective_ipc_lock.report == set() with input as json.patch(pods({"runAsUser": 1000}), [runs.set(own("runAsUser"), 0)])
}

test_success_without_the_capability if {
	effective_ipc_lock.report == set() with input as json.patch(pods({"runAsUser": 1000}), [runs.drop(own("capabilities/add"))])
}

test_success_without_the_device if effective_ipc_lock.report == set() with input as json.patch(runs.kueue, [runs.set(context, {"runAsUser": 1000})])
