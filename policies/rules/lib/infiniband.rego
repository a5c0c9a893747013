# METADATA
# title: The parts of InfiniBand in a pod template
# description: |
#   A device resource, a secondary network (the annotation that Multus reads) and the capability IPC_LOCK.
#   The names are the cluster's, from its facts; without facts only the common ones are known.
package lib.infiniband

import data.lib
import data.lib.environment

annotation := "k8s.v1.cni.cncf.io/networks"

has_fabric if lib.fabric.resource

# Resources that are InfiniBand devices wherever they are asked for.
common(resource) if resource == "nvidia.com/hostdev"

common(resource) if startswith(resource, "rdma/")

device(resource) if resource == lib.fabric.resource

device(resource) if {
	not has_fabric
	common(resource)
}

# What the containers of a pod template ask for: [{"container", "resource", "amount"}].
devices(g) := [found | some found in asked(g); device(found.resource)]

asked(g) := [{"container": i, "resource": resource, "amount": amount} |
	some i, container in lib.containers(g)
	some resource in _resources(container)
	amount := lib.container_request(container, resource)
	amount > 0
]

# Init containers that ask for the cluster's device: what they get is not in the containers that train.
before(g) := [container.name |
	some container in object.get(lib.pod_spec(g), "initContainers", [])
	lib.container_request(container, lib.fabric.resource) > 0
]

# Who has none of the cluster's devices, for messages.
deviceless(g) := sprintf("the pods ask for no %s", [lib.fabric.resource]) if count(before(g)) == 0

deviceless(g) := sprintf("no %s is asked for by container %s, only by init container %s", [
	lib.fabric.resource,
	lib.joined([container.name | some container in lib.containers(g)]),
	lib.joined(before(g)),
]) if {
	count(before(g)) > 0
}

_resources(container) := {resource |
	some side in ["requests", "limits"]
	some resource, _ in container.resources[side]
}

# --- IPC_LOCK ---------------------------------------------------------------------------------------------------

# Whether a container may lock memory. A privileged one has every capability.
locks(container) if _added(container) & {"IPC_LOCK", "ALL", "CAP_IPC_LOCK"} != set()

locks(container) if container.securityContext.privileged == true

_added(container) := {capability | some capability in container.securityContext.capabilities.add}

lock_path(g, i) := lib.container_path(g, i, ["securityContext", "capabilities", "add"])

# --- the secondary network --------------------------------------------------------------------------------------

# The networks that a pod template asks for: [{"namespace", "name", "interface"}], "" where not given.
networks(g) := parsed(object.get(lib.template(g), ["metadata", "annotations", annotation], ""))

# The annotation is a JSON list or `namespace/name@interface`, comma separated.
parsed(text) := [{
	"namespace": object.get(n, "namespace", ""),
	"name": object.get(n, "name", ""),
	"interface": object.get(n, "interface", ""),
} |
	json.is_valid(text)
	some n in json.unmarshal(text)
	is_object(n)
] if {
	regex.match(`[\[{"]`, text)
}

parsed(text) := [n |
	some item in split(text, ",")
	n := network(trim_space(item))
	n.name != ""
] if {
	not regex.match(`[\[{"]`, text)
}

network(item) := {"namespace": namespace, "name": name, "interface": interface} if {
	[place, interface] := _halves(item, "@")
	parts := split(place, "/")
	name := parts[count(parts) - 1]
	namespace := concat("/", array.slice(parts, 0, count(parts) - 1))
}

_halves(text, separator) := [parts[0], concat(separator, array.slice(parts, 1, count(parts)))] if {
	parts := split(text, separator)
}

# The cluster's attachment as {"namespace", "name", "interface"}: undefined where the facts name none.
attachment := network(lib.fabric.attachment) if lib.fabric.attachment != ""

# Whether a list of networks has the cluster's attachment, seen from a pod's namespace.
attached(list, namespace) if {
	some n in list
	n.name == attachment.name
	_same_namespace(n.namespace, namespace)
}

_same_namespace(_, _) if attachment.namespace == ""

_same_namespace(given, pod) if {
	given == ""
	pod in {"", attachment.namespace}
}

_same_namespace(given, _) if given == attachment.namespace

# Pods in the host's network see its devices and get no secondary interface.
host_network(g) if lib.pod_spec(g).hostNetwork == true

# Where the annotation stands too high for a pod template: {"place", "path" in the JobSet}.
misplaced(g) := [found |
	some found in [
		{
			"place": "the Job template",
			"path": ["spec", "replicatedJobs", g.pod.replicatedJob, "template", "metadata", "annotations", annotation],
			"value": object.get(lib.replicated_job(g), ["template", "metadata", "annotations", annotation], ""),
		},
		{
			"place": "the JobSet",
			"path": ["metadata", "annotations", annotation],
			"value": object.get(g.workload.jobset, ["metadata", "annotations", annotation], ""),
		},
	]
	found.value != ""
]

# Whether NCCL_IB_DISABLE is a number other than 0, as NCCL reads it; undefined where it is none.
disabled(g, i) := to_number(value) != 0 if {
	value := environment.variable(g, i, "NCCL_IB_DISABLE").value
	regex.match(`^[0-9]+$`, value)
}
