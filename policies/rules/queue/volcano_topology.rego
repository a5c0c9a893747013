# METADATA
# title: A hard network topology of Volcano means something, and can be met
# description: |
#   In mode hard Volcano places a gang into one HyperNode whose tier is at most highestTierAllowed (1 if it is not given).
#   With HyperNodes of higher tiers only, or too few nodes in each, no gang is ever placed. Above the highest tier, and
#   where there is no HyperNode at all, the whole cluster counts as one, and without the plugin network-topology-aware in
#   the scheduler's configuration, which Volcano's own manifests lack, nothing is asked for: the workers stand anywhere.
# related_resources:
# - ref: https://volcano.sh/en/docs/network_topology_aware_scheduling/
# - ref: https://github.com/volcano-sh/volcano/blob/v1.14.1/pkg/scheduler/plugins/network-topology-aware/network_topology_aware.go
# custom:
#   symptoms:
#   - "a gang with a network topology is spread over the whole cluster"
#   severity: error
#   needs: cluster
#   seen:
#   - "lab: tests/lab/test_topology.py::test_what_a_hard_topology_of_another_tier_means"
#   - "lab: tests/lab/test_topology.py::test_a_hard_topology_holds_with_volcanos_plugin_only"
#   - "source: volcano pkg/scheduler/plugins/network-topology-aware/network_topology_aware.go"
#   - "source: volcano pkg/scheduler/framework/session.go"
#   fix: "Write a highestTierAllowed that HyperNodes of the cluster have and the gang fits in, add the HyperNodes (or list them under `external`: HyperNode/{name}), and the plugin to the scheduler's configuration."
#   example: |
#     kind: ClusterTrainingRuntime
#     spec: {podGroupPolicy: {volcano: {networkTopology: {mode: hard, highestTierAllowed: 1}}}}
#     ---
#     kind: HyperNode
#     metadata: {name: room}
#     spec: {tier: 2, members: []}  # the only tier
package rules.queue.volcano_topology

import data.lib
import data.lib.pools
import data.lib.queueing

report contains lib.at(lib.runtime_of(w), place, sprintf("the HyperNodes of cluster %s begin at tier %d, and the highest that is allowed is %d: the gang is never placed", [input.cluster.name, min(tiers), allowed(w)])) if {
	some w in held
	count(hypernodes) > 0
	not outside
	allowed(w) < min(tiers)
}

report contains object.union(lib.at(lib.runtime_of(w), place, sprintf("tier %d is above all HyperNodes of cluster %s (the highest is %d): the gang may stand anywhere", [allowed(w), input.cluster.name, max(tiers)])), {"severity": "warning"}) if {
	some w in held
	count(hypernodes) > 0
	not outside
	allowed(w) > max(tiers)
}

# Volcano may make HyperNodes by itself, from labels of the nodes.
report contains object.union(lib.at(lib.runtime_of(w), topology, sprintf("cluster %s has no HyperNode: the gang may stand anywhere, or Volcano finds them by itself", [input.cluster.name])), {"severity": "warning"}) if {
	some w in held
	count(hypernodes) == 0
	not outside
	allowed(w) > 0
}

report contains lib.in_workload(w, queueing.parallelism_path(pod), message) if {
	some w in held
	not outside
	allowed(w) <= max(tiers) # else the whole cluster counts as one
	some pod in w.pods
	g := {"workload": w, "pod": pod}
	within := {name | some name, h in hypernodes; h.spec.tier <= allowed(w)}
	every name in within { known(name) }
	most := max([nodes_in(name) | some name in within])
	places := most * max([pools.per_node(pool, g) | some pool in pools.open(g)])
	pod.count > places
	message := sprintf("%d pods, and a HyperNode of tier %d or less has %d nodes at most, a place for %d: the gang is never placed", [pod.count, allowed(w), most, places])
}

report contains lib.at(i, ["data", key], "the scheduler has no plugin network-topology-aware: no topology that a run asks for is kept") if {
	count(held) > 0
	some i, manifest in lib.objects("", "ConfigMap")
	some key, text in manifest.data
	endswith(key, "volcano-scheduler.conf")
	yaml.is_valid(text)
	content := yaml.unmarshal(text)
	every tier in content.tiers {
		every plugin in tier.plugins { plugin.name != "network-topology-aware" }
	}
}

place := array.concat(topology, ["highestTierAllowed"])

topology := ["spec", "podGroupPolicy", "volcano", "networkTopology"]

# Runs that Trainer makes a PodGroup with a hard topology for; hard is the default.
held := [w |
	some w in queueing.runs
	lib.has_volcano
	object.get(w.podGroupPolicy.volcano.networkTopology, "mode", "hard") == "hard"
]

allowed(w) := object.get(w.podGroupPolicy.volcano.networkTopology, "highestTierAllowed", 1)

hypernodes := {h.metadata.name: h | some h in lib.objects("topology.volcano.sh", "HyperNode")}

tiers := {h.spec.tier | some h in hypernodes}

outside if {
	some e in input.cluster.external
	e.kind == "HyperNode"
}

# How many nodes a HyperNode holds, with those below it.
nodes_in(name) := count({node | some below in graph.reachable(children, {name}); some node in members(below, "Node")})

children := {name: members(name, "HyperNode") | some name, _ in hypernodes}

members(name, kind) := {member.selector.exactMatch.name | some member in hypernodes[name].spec.members; member.type == kind}

# What is selected by labels or patterns, or stands elsewhere, is not counted.
known(name) if {
	every below in graph.reachable(children, {name}) {
		every member in hypernodes[below].spec.members { counted(member) }
	}
}

counted(member) if {
	member.type == "Node"
	member.selector.exactMatch.name
}

counted(member) if hypernodes[member.selector.exactMatch.name]
