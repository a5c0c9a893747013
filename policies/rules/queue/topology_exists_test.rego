package rules_test.queue.topology_exists

import data.lib
import data.rules.queue.topology_exists
import data.rules_test.runs

racks := json.patch(runs.kueue, [runs.set("/objects/4/spec", {"topologyName": "racks", "nodeLabels": {"pool": "a100"}})])

test_fail_missing if {
	topology_exists.report == {lib.at(4, ["spec", "topologyName"], "Topology racks does not exist (there is: none): ClusterQueues with this flavor are inactive and admit nothing")} with input as racks
}

test_success_exists if {
	topology_exists.report == set() with input as json.patch(racks, [runs.set("/objects/-", {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Topology", "metadata": {"name": "racks"}})])
}

test_success_none if topology_exists.report == set() with input as runs.kueue
