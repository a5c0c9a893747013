# METADATA
# title: IPC_LOCK is added to a container that runs as root
# description: |
#   Kubernetes adds a capability to the bounding set; a process of another user than root does not get it. The manifest
#   looks right and the registration of memory fails all the same.
# related_resources:
# - ref: https://github.com/kubernetes/kubernetes/issues/56374
#   description: capabilities of users other than root
# custom:
#   seen:
#   - "lab: tests/lab/test_claims.py::test_a_capability_has_no_effect_for_another_user_than_root"
#   severity: error
#   fix: "Write `securityContext: {runAsUser: 0, runAsNonRoot: false, capabilities: {drop: [ALL], add: [IPC_LOCK]}}` in the container; with everything else dropped root can do little more."
#   example: |
#     containers:
#     - name: node
#       securityContext: {runAsUser: 1000, capabilities: {add: [IPC_LOCK]}}
#       resources: {limits: {nvidia.com/hostdev: "1"}}
package rules.infiniband.effective_ipc_lock

import data.lib
import data.lib.infiniband

report contains lib.in_workload(g.workload, infiniband.lock_path(g, i), sprintf("IPC_LOCK is added, and the container runs as %s: the capability has no effect, memory for %s cannot be locked", [user, d.resource])) if {
	some g in lib.all_pods
	some d in infiniband.devices(g)
	i := d.container
	container := lib.containers(g)[i]
	infiniband.locks(container)
	user := not_root(setting(g, container, "runAsUser"), setting(g, container, "runAsNonRoot"))
}

# The container's own setting, else the pod's.
setting(g, container, name) := object.get(container, ["securityContext", name], object.get(lib.pod_spec(g), ["securityContext", name], null))

not_root(user, _) := sprintf("user %d", [user]) if user > 0

not_root(null, true) := "another user than root (runAsNonRoot)"
