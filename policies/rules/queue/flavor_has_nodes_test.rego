package rules_test.queue.flavor_has_nodes

import data.lib
import data.rules.queue.flavor_has_nodes
import data.rules_test.runs

labelled(labels) := json.patch(runs.kueue, [
	runs.set("/cluster/nodes/0/labels", {"gpu": "a100", "zone": "b"}),
	runs.set("/objects/4/spec", {"nodeLabels": labels}),
])

test_fail_value if {
	flavor_has_nodes.report == {lib.at(4, ["spec", "nodeLabels"], "no pool of cluster west has nodes with gpu=h100, zone=b: pods that are admitted with this flavor never find a node")} with input as labelled({"gpu": "h100", "zone": "b"})
}

test_success_value if flavor_has_nodes.report == set() with input as labelled({"gpu": "a100"})

test_success_unknown_key if flavor_has_nodes.report == set() with input as labelled({"nvidia.com/gpu.product": "NVIDIA-A100"})

test_success_labels_not_told if {
	flavor_has_nodes.report == set() with input as json.patch(labelled({"gpu": "h100"}), [runs.drop("/cluster/nodes/0/labels")])
}

test_success_unused if {
	flavor_has_nodes.report == set() with input as json.patch(labelled({"gpu": "h100"}), [runs.put("/objects/4/metadata/name", "spare")])
}
