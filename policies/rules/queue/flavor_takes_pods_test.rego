package rules_test.queue.flavor_takes_pods

import data.lib
import data.rules.queue.flavor_takes_pods
import data.rules_test.runs

found(field, text) := {lib.in_workload({"index": 0}, array.concat(runs.pod_path, field), sprintf("no flavor of ClusterQueue survey takes the pods of node (%s): the run is never admitted", [text]))}

flavored(spec) := json.patch(runs.kueue, [runs.set("/objects/4/spec", spec)])

pod(from, field, value) := json.patch(from, [runs.set(sprintf("%s/%s", [runs.pod, field]), value)])

labelled := flavored({"nodeLabels": {"gpu": "a100"}})

test_fail_selector if {
	flavor_takes_pods.report == found(["nodeSelector"], "a100: gpu is a100, and h100 is asked for") with input as pod(labelled, "nodeSelector", {"gpu": "h100"})
}

taint := {"key": "team", "value": "sky", "effect": "NoSchedule"}

test_fail_taint if {
	flavor_takes_pods.report == found(["tolerations"], "a100: its taint team=sky:NoSchedule is not tolerated") with input as flavored({"nodeTaints": [taint]})
}

affinity(operator, values) := {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "gpu", "operator": operator, "values": values}]}]}}}

test_fail_affinity if {
	flavor_takes_pods.report == found(["affinity", "nodeAffinity"], "a100: its labels match no term of the required node affinity") with input as pod(labelled, "affinity", affinity("In", ["h100"]))
}

# A second flavor, without a topology.
two(first, second) := json.patch(flavored(first), [
	runs.set("/objects/3/spec/resourceGroups/0/flavors/-", object.union(runs.kueue.objects[3].spec.resourceGroups[0].flavors[0], {"name": "h100"})),
	runs.set("/objects/-", {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "h100"}, "spec": second}),
])

test_fail_both if {
	flavor_takes_pods.report == found(["nodeSelector"], "a100: gpu is a100, and v100 is asked for; h100: gpu is not there, and v100 is asked for") with input as pod(two({"nodeLabels": {"gpu": "a100"}}, {}), "nodeSelector", {"gpu": "v100"})
}

test_fail_topology_only if {
	flavor_takes_pods.report == found(["tolerations"], "a100: it takes only pods with a topology request; h100: its taint team=sky:NoSchedule is not tolerated") with input as two({"topologyName": "racks", "nodeLabels": {"gpu": "a100"}}, {"nodeTaints": [taint]})
}

test_success_second if {
	flavor_takes_pods.report == set() with input as pod(two({"nodeLabels": {"gpu": "a100"}}, {"nodeLabels": {"gpu": "h100"}}), "nodeSelector", {"gpu": "h100"})
}

test_success_selector if flavor_takes_pods.report == set() with input as pod(labelled, "nodeSelector", {"gpu": "a100", "zone": "b"})

test_success_affinity if {
	flavor_takes_pods.report == set() with input as pod(labelled, "affinity", affinity("NotIn", ["h100"]))
}

test_success_tolerated if {
	flavor_takes_pods.report == set() with input as pod(flavored({"nodeTaints": [taint]}), "tolerations", [{"key": "team", "operator": "Exists"}])
	flavor_takes_pods.report == set() with input as flavored({"nodeTaints": [taint], "tolerations": [{"operator": "Exists"}]})
}

test_success_all_with_topology if {
	flavor_takes_pods.report == set() with input as flavored({"topologyName": "racks", "nodeLabels": {"gpu": "a100"}})
}

test_success_flavor_not_known if {
	flavor_takes_pods.report == set() with input as pod(json.patch(labelled, [runs.put("/objects/4/metadata/name", "other")]), "nodeSelector", {"gpu": "h100"})
}
