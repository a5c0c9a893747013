# METADATA
# title: A run takes no more of a node than its runtime gives it
# description: |
#   Trainer applies whatever a TrainJob patches into its runtime: a privileged container, a folder of the node, any
#   ServiceAccount of the namespace. Whoever may make a TrainJob could so take the node and what else runs there. A run
#   may bring claims, ConfigMaps, Secrets, emptyDirs, tolerations, node selectors and variables; what reaches out of the
#   pod belongs in the runtime, which the platform reviews, or is listed under `runs` in cluster.yaml. What surely gives
#   the node away is always an error; the rest is a warning as long as the cluster has no `runs`.
# related_resources:
# - ref: https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/apis/trainer/v1alpha1/trainjob_types.go
#   description: what a runtimePatch can set
# - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#   description: why each of these is dangerous
# custom:
#   seen:
#   - "lab: tests/lab/test_claims.py::test_trainer_applies_what_takes_the_node"
#   - "lab: tests/lab/test_admission.py::test_the_api_server_and_the_rules_judge_alike"
#   - "source: trainer pkg/apis/trainer/v1alpha1/trainjob_types.go"
#   - "source: trainer pkg/runtime/core/trainingruntime.go"
#   severity: error
#   fix: "Leave it out of the TrainJob; what every run of this kind needs belongs in the runtime."
#   example: |
#     runtimePatches:
#     - manager: example.com/team
#       trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {
#         volumes: [{name: node, hostPath: {path: /}}]}}}}}]}}}
package rules.run.allowed_overrides

import data.lib
import data.lib.infiniband
import data.lib.overrides

report contains object.union(
	lib.at(t.object, array.concat(t.path, fault.path), sprintf("%s: %s", [fault.what, fault.why])),
	object.union({"severity": severity(fault.taken)}, fix(fault)),
) if {
	some t in overrides.templates
	some fault in faults(t.template)
}

# A fault: {"path" in the pod template, "what", "why", "taken": whether it surely gives the node away, "list" of cluster.yaml}.
faults(template) := (accounts(template) | (networks(template) | volumes(template))) | (pod_settings(template) | container_settings(template))

severity(true) := "error"

severity(false) := "error" if overrides.decided

severity(false) := "warning" if not overrides.decided

fix(fault) := {"fix": sprintf("Leave it out of the TrainJob; what every run of this kind needs belongs in the runtime, what some may bring under runs.%s in cluster.yaml.", [fault.list])} if fault.list

fix(fault) := {} if not fault.list

# --- who the pod is ---------------------------------------------------------------------------------------------

accounts(template) := {{
	"path": ["spec", "serviceAccountName"],
	"what": sprintf("the run names the ServiceAccount %s", [name]),
	"why": why_account(name),
	"taken": powerful(name),
	"list": "serviceAccounts",
} |
	name := template.spec.serviceAccountName
	not name in array.concat(["", "default"], overrides.allowed.serviceAccounts)
}

why_account(name) := "a binding of this cluster makes it an administrator" if powerful(name)

why_account(name) := "its pods may do in the cluster whatever this account may" if not powerful(name)

default powerful(_) := false

powerful(name) if {
	some kind in ["ClusterRoleBinding", "RoleBinding"]
	some binding in lib.objects("rbac.authorization.k8s.io", kind)
	binding.roleRef.name in {"cluster-admin", "admin", "edit"}
	some subject in binding.subjects
	subject.kind == "ServiceAccount"
	subject.name == name
}

# --- what it is connected to ------------------------------------------------------------------------------------

networks(template) := {{
	"path": ["metadata", "annotations", infiniband.annotation],
	"what": sprintf("the run attaches its pods to the network %s", [value]),
	"why": sprintf("runs of this cluster may attach to: %s", [lib.joined(overrides.allowed.networks)]),
	"taken": false,
} |
	overrides.decided
	value := template.metadata.annotations[infiniband.annotation]
	every allowed in overrides.allowed.networks {
		not regex.match(sprintf("^%s(, *%s)*$", [allowed, allowed]), value)
	}
}

# --- what it mounts ---------------------------------------------------------------------------------------------

volumes(template) := {{
	"path": ["spec", "volumes", i, "hostPath", "path"],
	"what": sprintf("the run mounts %s of the node", [path]),
	"why": "its pods read and write there beside the node's own programs and every other pod",
	"taken": the_nodes_own(path),
	"list": "hostPaths",
} |
	some i, volume in template.spec.volumes
	path := volume.hostPath.path
	not within_allowed(path)
} | {{
	"path": ["spec", "volumes", i, type],
	"what": sprintf("the run brings a %s volume", [type]),
	"why": "the node runs what it names as root",
	"taken": true,
} |
	some i, volume in template.spec.volumes
	some type in ["flexVolume", "gitRepo"]
	volume[type]
}

within_allowed(path) if {
	not contains(path, "..")
	some folder in overrides.allowed.hostPaths
	startswith(sprintf("%s/", [path]), sprintf("%s/", [folder]))
}

default the_nodes_own(_) := false

the_nodes_own(path) if concat("/", steps(path)) in whole_folders

the_nodes_own(path) if ".." in steps(path)

the_nodes_own(path) if {
	some folder in folders
	startswith(sprintf("%s/", [concat("/", steps(path))]), sprintf("%s/", [folder]))
}

steps(path) := [step | some step in split(path, "/"); not step in {"", "."}]

# Not even read, as a whole: what is meant is most often one folder below them.
whole_folders := {"", "bin", "dev", "etc", "home", "lib", "lib64", "proc", "root", "run", "sbin", "sys", "usr", "var", "var/lib", "var/run"}

# Whoever writes here is root on the node, or reads what makes him so.
folders := {
	"boot", "etc/cron.d", "etc/kubernetes", "etc/ssh", "etc/systemd", "proc/1", "root/.ssh", "run/containerd", "run/crio", "run/docker.sock",
	"var/lib/containerd", "var/lib/docker", "var/lib/etcd", "var/lib/kubelet", "var/lib/rancher", "var/run/containerd", "var/run/crio", "var/run/docker.sock",
}

# --- what it may do ---------------------------------------------------------------------------------------------

pod_settings(template) := settings(object.get(template, ["spec", "securityContext"], {}), ["spec", "securityContext"], "the run's pod")

container_settings(template) := union({found |
	some list in ["containers", "initContainers"]
	some i, container in template.spec[list]
	context := object.get(container, "securityContext", {})
	path := ["spec", list, i, "securityContext"]
	who := sprintf("container %s", [container.name])
	found := settings(context, path, who) | added(context, path, who)
})

settings(context, path, who) := {{
	"path": array.concat(path, setting.path),
	"what": sprintf("%s %s", [who, setting.what]),
	"why": "what a pod may do on its node is the runtime's to say",
	"taken": setting.taken,
} |
	some setting in set_up
	object.get(context, setting.path, null) == setting.value
} | {{
	"path": array.concat(path, ["seLinuxOptions"]),
	"what": sprintf("%s changes its SELinux label", [who]),
	"why": "what a pod may do on its node is the runtime's to say",
	"taken": false,
} |
	context.seLinuxOptions
}

set_up := [
	{"path": ["privileged"], "value": true, "what": "is privileged", "taken": true},
	{"path": ["windowsOptions", "hostProcess"], "value": true, "what": "is a process of the host", "taken": true},
	{"path": ["allowPrivilegeEscalation"], "value": true, "what": "may gain privileges", "taken": false},
	{"path": ["procMount"], "value": "Unmasked", "what": "sees all of /proc", "taken": false},
	{"path": ["seccompProfile", "type"], "value": "Unconfined", "what": "has no seccomp profile", "taken": false},
	{"path": ["appArmorProfile", "type"], "value": "Unconfined", "what": "has no AppArmor profile", "taken": false},
]

added(context, path, who) := {{
	"path": array.concat(path, ["capabilities", "add"]),
	"what": sprintf("%s adds the capability %s", [who, capability]),
	"why": sprintf("runs of this cluster may add: %s", [lib.joined(overrides.allowed.capabilities)]),
	"taken": trim_prefix(capability, "CAP_") in the_nodes_capabilities,
	"list": "capabilities",
} |
	some capability in context.capabilities.add
	not capability in overrides.allowed.capabilities
}

the_nodes_capabilities := {"ALL", "BPF", "DAC_READ_SEARCH", "MAC_ADMIN", "SYS_ADMIN", "SYS_BOOT", "SYS_MODULE", "SYS_RAWIO"}
