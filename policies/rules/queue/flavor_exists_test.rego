package rules_test.queue.flavor_exists

import data.rules.queue.flavor_exists
import data.rules_test.runs

second := json.patch(runs.kueue, [runs.set("/objects/3/spec/resourceGroups/-", {"coveredResources": ["example.com/disk"], "flavors": [{"name": "disk", "resources": []}]})])

test_fail_second_group if {
	flavor_exists.report == {{
		"object": 3,
		"path": ["spec", "resourceGroups", 1, "flavors", 0, "name"],
		"message": "ResourceFlavor disk does not exist (there is: a100): the ClusterQueue is inactive and admits nothing",
	}} with input as second
}

test_success_exists if flavor_exists.report == set() with input as runs.kueue

test_success_external if {
	flavor_exists.report == set() with input as json.patch(second, [runs.set("/cluster/external/-", {"kind": "ResourceFlavor", "namespace": "", "name": "disk"})])
}
