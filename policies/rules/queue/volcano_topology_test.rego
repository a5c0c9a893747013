package rules_test.queue.volcano_topology

import data.lib
import data.rules.queue.volcano_topology
import data.rules_test.runs

topology := ["spec", "podGroupPolicy", "volcano", "networkTopology"]

node(name) := {"type": "Node", "selector": {"exactMatch": {"name": name}}}

hypernode(name, tier, members) := runs.set("/objects/-", {"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": {"name": name}, "spec": {"tier": tier, "members": members}})

asking(spec, more) := json.patch(runs.volcano, array.concat([runs.set("/workloads/0/podGroupPolicy/volcano/networkTopology", spec)], more))

racks := [
	hypernode("rack-0", 1, [node("a"), node("b")]),
	hypernode("rack-1", 1, [node("c")]),
	hypernode("room", 2, [{"type": "HyperNode", "selector": {"exactMatch": {"name": "rack-0"}}}, {"type": "HyperNode", "selector": {"exactMatch": {"name": "rack-1"}}}]),
]

warning(path, message) := {object.union(lib.at(1, path, message), {"severity": "warning"})}

at_tier := array.concat(topology, ["highestTierAllowed"])

test_fail_too_low if {
	volcano_topology.report == {lib.at(1, at_tier, "the HyperNodes of cluster west begin at tier 2, and the highest that is allowed is 1: the gang is never placed")} with input as asking({"highestTierAllowed": 1}, [hypernode("room", 2, [node("a"), node("b")])])
}

test_fail_too_high if {
	volcano_topology.report == warning(at_tier, "tier 3 is above all HyperNodes of cluster west (the highest is 2): the gang may stand anywhere") with input as asking({"mode": "hard", "highestTierAllowed": 3}, racks)
}

# The whole cluster counts as one: that no rack holds the gang is no matter.
test_fail_too_high_and_larger_than_a_rack if {
	volcano_topology.report == warning(at_tier, "tier 2 is above all HyperNodes of cluster west (the highest is 1): the gang may stand anywhere") with input as asking({"highestTierAllowed": 2}, array.concat([hypernode("rack-0", 1, [node("a"), node("b")])], runs.pods(3)))
}

test_fail_no_hypernode if {
	volcano_topology.report == warning(topology, "cluster west has no HyperNode: the gang may stand anywhere, or Volcano finds them by itself") with input as asking({}, [])
}

three := array.concat(racks, runs.pods(3))

test_fail_too_many if {
	volcano_topology.report == {lib.in_workload({"index": 0}, runs.parallelism, "3 pods, and a HyperNode of tier 1 or less has 2 nodes at most, a place for 2: the gang is never placed")} with input as asking({"highestTierAllowed": 1}, three)
}

scheduler(plugins) := runs.set("/objects/-", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "volcano-scheduler-configmap"}, "data": {"volcano-scheduler.conf": yaml.marshal({"actions": "enqueue, allocate", "tiers": [{"plugins": [{"name": name} | some name in plugins]}]})}})

test_fail_scheduler_without_the_plugin if {
	volcano_topology.report == {lib.at(9, ["data", "volcano-scheduler.conf"], "the scheduler has no plugin network-topology-aware: no topology that a run asks for is kept")} with input as asking({}, array.concat(racks, [scheduler(["gang", "proportion"])]))
}

test_success_room_for_all if volcano_topology.report == set() with input as asking({"highestTierAllowed": 2}, three)

test_success_rack if volcano_topology.report == set() with input as asking({}, array.concat(racks, [scheduler(["gang", "network-topology-aware"])]))

test_success_by_labels if {
	volcano_topology.report == set() with input as asking({}, array.concat([hypernode("rack", 1, [{"type": "Node", "selector": {"labelMatch": {"matchLabels": {"rack": "a"}}}}])], runs.pods(3)))
}

test_success_soft if volcano_topology.report == set() with input as asking({"mode": "soft"}, [])

test_success_elsewhere if {
	volcano_topology.report == set() with input as asking({}, [runs.set("/cluster/external/-", {"kind": "HyperNode", "namespace": "", "name": "rack"})])
}

test_success_not_asked if volcano_topology.report == set() with input as runs.volcano
