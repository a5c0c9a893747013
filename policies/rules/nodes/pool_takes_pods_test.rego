package rules_test.nodes.pool_takes_pods

import data.lib
import data.rules.nodes.pool_takes_pods
import data.rules_test.runs

pool(facts) := object.union({"pool": "a100", "count": 4, "allocatable": {"nvidia.com/gpu": "8"}}, facts)

cluster(facts) := json.patch(runs.kueue, [runs.set("/cluster/nodes", facts)])

selecting(from, labels) := json.patch(from, [runs.set(sprintf("%s/nodeSelector", [runs.pod]), labels)])

found(field, text) := {lib.in_workload({"index": 0}, array.concat(runs.pod_path, field), sprintf("no pool of cluster west takes the pods of node (%s): they stay Pending for ever", [text]))}

test_fail_label if {
	pool_takes_pods.report == found(["nodeSelector"], "pool a100: gpu is a100 there, and h100 is asked for") with input as selecting(cluster([pool({"labels": {"gpu": "a100"}})]), {"gpu": "h100"})
}

test_fail_architecture if {
	pool_takes_pods.report == found(["nodeSelector"], "pool a100: kubernetes.io/arch is amd64 there, and arm64 is asked for") with input as selecting(cluster([pool({"architecture": "amd64"})]), {"kubernetes.io/arch": "arm64"})
}

two := cluster([pool({"labels": {"gpu": "a100"}}), pool({"pool": "cpu", "labels": {"role": "service"}})])

test_fail_label_of_another_pool if {
	pool_takes_pods.report == found(["nodeSelector"], "pool a100: gpu is a100 there, and h100 is asked for; pool cpu: its nodes have no label gpu, and h100 is asked for") with input as selecting(two, {"gpu": "h100"})
}

affinity(expression) := {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}

wanting(expression) := json.patch(cluster([pool({"labels": {"gpu": "a100"}})]), [runs.set(sprintf("%s/affinity", [runs.pod]), affinity(expression))])

test_fail_affinity if {
	every expression in [
		{"key": "gpu", "operator": "In", "values": ["h100"]},
		{"key": "gpu", "operator": "NotIn", "values": ["a100"]},
		{"key": "gpu", "operator": "DoesNotExist"},
	] {
		pool_takes_pods.report == found(["affinity", "nodeAffinity"], "pool a100: its node affinity matches none of the required terms") with input as wanting(expression)
	}
}

test_success_affinity if {
	every expression in [
		{"key": "gpu", "operator": "In", "values": ["h100", "a100"]},
		{"key": "gpu", "operator": "Exists"},
		{"key": "zone", "operator": "In", "values": ["b"]},
	] {
		pool_takes_pods.report == set() with input as wanting(expression)
	}
}

taint := {"key": "team", "value": "sky", "effect": "NoSchedule"}

tainted := cluster([pool({"taints": [taint]})])

tolerating(from, toleration) := json.patch(from, [runs.set(sprintf("%s/tolerations", [runs.pod]), [toleration])])

test_fail_taint if {
	pool_takes_pods.report == found(["tolerations"], "pool a100: its taint team=sky:NoSchedule is not tolerated") with input as tainted
	count(pool_takes_pods.report) == 1 with input as tolerating(tainted, {"key": "team", "value": "sea"})
	count(pool_takes_pods.report) == 1 with input as tolerating(tainted, {"key": "team", "operator": "Exists", "effect": "NoExecute"})
}

test_success_tolerated if {
	every toleration in [
		{"key": "team", "value": "sky", "effect": "NoSchedule"},
		{"key": "team", "operator": "Exists"},
		{"operator": "Exists"},
	] {
		pool_takes_pods.report == set() with input as tolerating(tainted, toleration)
	}
}

test_success_tolerated_by_the_flavor if {
	pool_takes_pods.report == set() with input as json.patch(tainted, [runs.set("/objects/4/spec", {"tolerations": [{"key": "team", "operator": "Exists"}]})])
}

# The API server may add this toleration.
test_success_taint_of_the_gpu if {
	pool_takes_pods.report == set() with input as cluster([pool({"taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]})])
}

test_success_only_preferred if {
	pool_takes_pods.report == set() with input as cluster([pool({"taints": [object.union(taint, {"effect": "PreferNoSchedule"})]})])
}

test_success_unknown if {
	pool_takes_pods.report == set() with input as selecting(cluster([pool({})]), {"gpu": "h100"})
	pool_takes_pods.report == set() with input as selecting(cluster([pool({"labels": {"role": "train"}})]), {"gpu": "h100"})
}

test_success_one_of_two if pool_takes_pods.report == set() with input as selecting(two, {"gpu": "a100"})

# Another rule speaks of the flavor.
test_success_flavor_without_nodes if {
	pool_takes_pods.report == set() with input as json.patch(two, [runs.set("/objects/4/spec", {"nodeLabels": {"gpu": "h100"}})])
}

test_success_elsewhere if {
	pool_takes_pods.report == set() with input as json.patch(tainted, [runs.set("/objects/0/spec/managedBy", "kueue.x-k8s.io/multikueue")])
}
