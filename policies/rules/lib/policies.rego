# METADATA
# title: What NetworkPolicies let through
# description: |
#   Whom a policy selects and whom its rules name, by the labels that pods will have. Labels that controllers give are
#   not all known, so that a selector holds surely, perhaps or not at all.
package lib.policies

import data.lib

# All policies of a namespace by their index; undecidable where some are outside the repository.
of(namespace) := {i: policy |
	some i, policy in lib.objects("networking.k8s.io", "NetworkPolicy")
	object.get(policy.metadata, "namespace", "") == namespace
}

elsewhere(namespace) if {
	some e in input.cluster.external
	e.kind == "NetworkPolicy"
	e.namespace == namespace
}

# Those that surely select a pod template, by direction: `Ingress` or `Egress`.
selecting(g, direction) := {i: policy |
	some i, policy in of(g.workload.namespace)
	direction in directions(policy)
	surely(object.get(policy.spec, "podSelector", {}), labels(g))
}

# Those that perhaps do: their rules may let through what the others do not.
perhaps_selecting(g, direction) := {i: policy |
	some i, policy in of(g.workload.namespace)
	direction in directions(policy)
	perhaps(object.get(policy.spec, "podSelector", {}), labels(g))
}

directions(policy) := policy.spec.policyTypes if count(object.get(policy.spec, "policyTypes", [])) > 0

directions(policy) := {"Ingress"} | {"Egress" | policy.spec.egress} if count(object.get(policy.spec, "policyTypes", [])) == 0

# The rules of a direction that perhaps hold for a pod template.
rules(g, direction) := [rule |
	some policy in perhaps_selecting(g, direction)
	some rule in object.get(policy.spec, lower(direction), [])
]

peers(rule, direction) := object.get(rule, {"Ingress": "from", "Egress": "to"}[direction], [])

# Whether a rule perhaps lets through to or from pods of a pod template (in the same namespace).
reaches(rule, direction, _) if count(peers(rule, direction)) == 0

reaches(rule, direction, g) if {
	some peer in peers(rule, direction)
	named(peer, g)
}

named(peer, _) if peer.ipBlock

named(peer, g) if {
	not peer.ipBlock
	perhaps(object.get(peer, "podSelector", {}), labels(g))
	here(peer, g.workload.namespace)
}

here(peer, _) if not peer.namespaceSelector

here(peer, namespace) if {
	some o in lib.objects_named("", "Namespace", namespace)
	perhaps(peer.namespaceSelector, object.union(object.get(o.metadata, "labels", {}), {"kubernetes.io/metadata.name": namespace}))
}

here(peer, namespace) if {
	peer.namespaceSelector
	not lib.exists("", "Namespace", "", namespace)
}

# Whether a rule perhaps lets through beyond the pods of its own namespace.
leaves(rule, direction) if count(peers(rule, direction)) == 0

leaves(rule, direction) if {
	some peer in peers(rule, direction)
	some field in ["ipBlock", "namespaceSelector"]
	peer[field]
}

every_port(rule) if count(object.get(rule, "ports", [])) == 0

every_port(rule) if {
	some port in rule.ports
	object.get(port, "protocol", "TCP") == "TCP"
	not port.port
}

every_port(rule) if {
	some port in rule.ports
	object.get(port, "protocol", "TCP") == "TCP"
	port.port <= 1024
	port.endPort >= 65535
}

# A named port may be any.
port(rule, _, _) if count(object.get(rule, "ports", [])) == 0

port(rule, protocol, number) if {
	some p in rule.ports
	object.get(p, "protocol", "TCP") == protocol
	includes(p, number)
}

includes(p, _) if not p.port

includes(p, _) if is_string(p.port)

includes(p, number) if p.port == number

includes(p, number) if {
	p.port <= number
	p.endPort >= number
}

# --- labels -----------------------------------------------------------------------------------------------------

# The labels of a pod template's pods that are known before they exist.
labels(g) := object.union(object.get(lib.template(g), ["metadata", "labels"], {}), {
	run_label: g.workload.name,
	"jobset.sigs.k8s.io/replicatedjob-name": g.pod.name,
})

run_label := "jobset.sigs.k8s.io/jobset-name"

# Keys that controllers set to what nobody knows yet.
unknown(key, given) if {
	not given[key]
	regex.match(`^(job-name|controller-uid)$|^([^/]*\.)?(k8s\.io|kubernetes\.io|volcano\.sh|kubeflow\.org)/`, key)
}

requirements(selector) := array.concat(
	[{"key": key, "operator": "In", "values": [value]} | some key, value in object.get(selector, "matchLabels", {})],
	object.get(selector, "matchExpressions", []),
)

surely(selector, given) if {
	every r in requirements(selector) {
		not unknown(r.key, given)
		holds(r, given)
	}
}

perhaps(selector, given) if {
	every r in requirements(selector) { possible(r, given) }
}

possible(r, given) if unknown(r.key, given)

possible(r, given) if holds(r, given)

holds(r, given) if {
	r.operator in {"In", "NotIn", "Exists", "DoesNotExist"}
	not lib.unmet(r, object.get(given, r.key, null))
}
