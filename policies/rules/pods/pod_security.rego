# METADATA
# title: The namespace lets the pods in
# description: |
#   Pod Security refuses pods that are above the level that their namespace enforces. The TrainJob, the JobSet and the
#   Job are accepted without a word; only the Job's events say that no pod can be made, and the run waits for ever.
#   Baseline forbids hostPath volumes, the host's namespaces and ports, privileged containers and most added capabilities,
#   IPC_LOCK among them; restricted wants non-root (or a user namespace), no privilege escalation, all capabilities dropped,
#   a seccomp profile and no volumes like nfs, which a claim may lead to, as well.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#   description: what each level forbids
# custom:
#   seen:
#   - "lab: tests/lab/test_claims.py::test_pods_above_the_level_of_their_namespace_are_refused_and_nothing_above_them"
#   - "lab: tests/lab/test_claims.py::test_what_the_levels_forbid"
#   - "source: kubernetes staging/src/k8s.io/pod-security-admission/policy/check_capabilities_baseline.go"
#   - "source: kubernetes staging/src/k8s.io/pod-security-admission/policy/check_hostPathVolumes.go"
#   - "source: kubernetes staging/src/k8s.io/pod-security-admission/policy/check_runAsNonRoot.go"
#   - "source: kubernetes staging/src/k8s.io/pod-security-admission/policy/check_restrictedVolumes.go"
#   severity: error
#   needs: cluster
#   fix: "Remove it from the pods, or enforce a lower level: label pod-security.kubernetes.io/enforce of the Namespace (privileged where hostPath or IPC_LOCK are used)."
#   symptoms: ["violates PodSecurity"]
#   example: |
#     kind: Namespace
#     metadata: {name: vision, labels: {pod-security.kubernetes.io/enforce: baseline}}
#     # and a run there whose data comes from a hostPath
package rules.pods.pod_security

import data.lib

report contains lib.in_workload(g.workload, fault.path, sprintf("%s, and namespace %s enforces %s: no pod can be made", [fault.what, g.workload.namespace, level])) if {
	some g in lib.all_pods
	level := enforced(g.workload.namespace)
	some fault in faults(g, level)
}

enforced(namespace) := level if {
	some o in lib.objects_named("", "Namespace", namespace)
	level := o.metadata.labels["pod-security.kubernetes.io/enforce"]
	level in {"baseline", "restricted"}
}

faults(g, "baseline") := baseline(g)

faults(g, "restricted") := baseline(g) | restricted(g)

# --- baseline ---------------------------------------------------------------------------------------------------

baseline(g) := ((host_namespaces(g) | host_paths(g)) | host_ports(g)) | (privileged(g) | added(g, baseline_capabilities))

baseline_capabilities := {
	"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
	"NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
}

host_namespaces(g) := {{"path": lib.pod_path(g, [field]), "what": sprintf("%s is true", [field])} |
	some field in ["hostNetwork", "hostPID", "hostIPC"]
	lib.pod_spec(g)[field] == true
}

host_paths(g) := {{"path": lib.pod_path(g, ["volumes", i, "hostPath"]), "what": sprintf("volume %s is a hostPath", [volume.name])} |
	some i, volume in lib.pod_spec(g).volumes
	volume.hostPath
}

host_ports(g) := {{"path": array.concat(c.path, ["ports", p, "hostPort"]), "what": sprintf("container %s takes the port %d of its node", [c.container.name, port.hostPort])} |
	some c in every_container(g)
	some p, port in c.container.ports
	port.hostPort > 0
}

privileged(g) := {{"path": array.concat(c.path, ["securityContext", "privileged"]), "what": sprintf("container %s is privileged", [c.container.name])} |
	some c in every_container(g)
	c.container.securityContext.privileged == true
}

added(g, allowed) := {{"path": array.concat(c.path, ["securityContext", "capabilities", "add"]), "what": sprintf("container %s adds the capability %s", [c.container.name, capability])} |
	some c in every_container(g)
	some capability in c.container.securityContext.capabilities.add
	not capability in allowed
}

# --- restricted -------------------------------------------------------------------------------------------------

restricted(g) := ((escalation(g) | capabilities(g)) | volumes(g)) | (root(g) | seccomp(g))

volumes(g) := {{"path": lib.pod_path(g, ["volumes", i, type]), "what": sprintf("volume %s is of the type %s", [volume.name, type])} |
	some i, volume in lib.pod_spec(g).volumes
	some type, _ in volume
	not type in volume_types
}

# hostPath is told of above.
volume_types := {
	"name", "hostPath",
	"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected", "secret",
}

escalation(g) := {{"path": array.concat(c.path, ["securityContext", "allowPrivilegeEscalation"]), "what": sprintf("allowPrivilegeEscalation of container %s is not false", [c.container.name])} |
	some c in every_container(g)
	object.get(c.container, ["securityContext", "allowPrivilegeEscalation"], true) != false
}

capabilities(g) := added(g, {"NET_BIND_SERVICE"}) | {{"path": array.concat(c.path, ["securityContext", "capabilities", "drop"]), "what": sprintf("container %s does not drop ALL capabilities", [c.container.name])} |
	some c in every_container(g)
	not "ALL" in object.get(c.container, ["securityContext", "capabilities", "drop"], [])
}

# With a user namespace of its own (Kubernetes 1.35) a pod may be root in it.
root(g) := set() if lib.pod_spec(g).hostUsers == false

root(g) := as_root(g) if not lib.pod_spec(g).hostUsers == false

as_root(g) := {{"path": array.concat(c.path, ["securityContext", "runAsNonRoot"]), "what": sprintf("container %s may run as root", [c.container.name])} |
	some c in every_container(g)
	not setting(g, c.container, "runAsNonRoot") == true
} | {{"path": array.concat(c.path, ["securityContext", "runAsUser"]), "what": sprintf("container %s runs as user 0", [c.container.name])} |
	some c in every_container(g)
	setting(g, c.container, "runAsUser") == 0
}

seccomp(g) := {{"path": array.concat(c.path, ["securityContext", "seccompProfile"]), "what": sprintf("container %s has no seccomp profile", [c.container.name])} |
	some c in every_container(g)
	not object.get(setting(g, c.container, "seccompProfile"), "type", "") in {"RuntimeDefault", "Localhost"}
}

# A container's own setting counts before the pod's.
setting(g, container, field) := object.get(container, ["securityContext", field], object.get(lib.pod_spec(g), ["securityContext", field], {}))

every_container(g) := [{"path": lib.pod_path(g, [list, i]), "container": container} |
	some list in ["initContainers", "containers"]
	some i, container in lib.pod_spec(g)[list]
]
