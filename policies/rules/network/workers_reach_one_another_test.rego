package rules_test.network.workers_reach_one_another

import data.rules.network.workers_reach_one_another.report
import data.rules_test.fixture

run := {"matchLabels": {"jobset.sigs.k8s.io/jobset-name": "run-1"}}

own := [{"podSelector": run}]

dns := {"ports": [{"port": 53, "protocol": "UDP"}]}

status := {"ports": [{"port": 10443, "protocol": "TCP"}]}

right := {
	"podSelector": run,
	"policyTypes": ["Ingress", "Egress"],
	"ingress": [{"from": own}],
	"egress": [{"to": own}, dns, status],
}

# The fixture's run, whose pods ask for GPUs, beside policies with these specs.
with_policies(specs) := json.patch(fixture.trainjob, array.concat(
	[
		{"op": "add", "path": "/workloads/0/pods/0/limits", "value": {"nvidia.com/gpu": 1}},
		{"op": "add", "path": "/cluster/featureGates", "value": {"TrainJobStatus": true}},
	],
	[{"op": "add", "path": "/objects/-", "value": policy(spec)} | some spec in specs],
))

policy(spec) := {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "p", "namespace": "team"}, "spec": spec}

# What is found: the severity, the direction and the words of the message that tell findings apart.
found(document) := {[object.get(finding, "severity", "error"), finding.path[1], finding.object] | some finding in report with input as document}

messages(document) := {finding.message | some finding in report with input as document}

alone(fields) := with_policies([object.union(right, fields)])

test_success_right if found(with_policies([right])) == set()

test_success_no_policy if found(with_policies([])) == set()

test_fail_another_run if {
	messages(alone({"ingress": [{"from": [{"podSelector": {"matchLabels": {"jobset.sigs.k8s.io/jobset-name": "run-0"}}}]}]})) == {"the workers of run-1 reach one another on no port (Ingress): each waits for the others until the run times out"}
}

test_fail_nothing_comes_in if found(alone({"ingress": []})) == {["error", "ingress", 3]}

test_fail_no_way_out_to_one_another if found(alone({"egress": [dns, status]})) == {["error", "egress", 3]}

test_fail_some_ports if {
	document := alone({"ingress": [{"from": own, "ports": [{"port": 12345}]}]})
	messages(document) == {"the workers of run-1 reach one another on some ports only (Ingress): each waits for the others until the run times out"}
	found(document) == {["error", "ingress", 3]}
	found(json.patch(document, [{"op": "replace", "path": "/workloads/0/pods/0/limits", "value": {"cpu": 1}}])) == {["warning", "ingress", 3]}
}

test_fail_no_dns if {
	messages(alone({"egress": [{"to": own}, status]})) == {"the workers of run-1 cannot ask DNS (port 53, UDP), so they never find one another"}
}

test_fail_dns_only_in_the_run_s_own_namespace if {
	found(alone({"egress": [{"to": own}, object.union(dns, {"to": [{"podSelector": {}}]}), status]})) == {["error", "egress", 3]}
}

test_fail_no_status_server if {
	document := alone({"egress": [{"to": own}, dns]})
	found(document) == {["warning", "egress", 3]}
	found(json.patch(document, [{"op": "remove", "path": "/cluster/featureGates"}])) == set()
}

test_fail_default_deny_of_the_namespace if {
	found(with_policies([{"podSelector": {}}])) == {["error", "ingress", 3]}
	found(with_policies([{"podSelector": {}, "policyTypes": ["Egress"]}])) == {["error", "egress", 3], ["warning", "egress", 3]}
}

test_success_policies_add_up if {
	found(with_policies([{"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}, right])) == set()
}

test_success_all_pods_of_the_namespace if {
	found(with_policies([{"podSelector": {}, "ingress": [{"from": [{"podSelector": {}}]}]}])) == set()
}

test_success_all_ports_by_a_range if {
	found(alone({"ingress": [{"from": own, "ports": [{"port": 1, "endPort": 65535}]}]})) == set()
}

test_success_what_is_not_known_may_be_right if {
	every peer in [{"ipBlock": {"cidr": "10.0.0.0/8"}}, {"podSelector": {"matchLabels": {"batch.kubernetes.io/job-name": "x"}}}] {
		found(alone({"ingress": [{"from": [peer]}]})) == set()
	}
	found(with_policies([{"podSelector": {"matchExpressions": [{"key": "kueue.x-k8s.io/podset", "operator": "Exists"}]}}])) == set()
}

test_success_policies_outside_the_repository if {
	found(json.patch(alone({"ingress": []}), [{"op": "add", "path": "/cluster/external/-", "value": {"kind": "NetworkPolicy", "namespace": "team", "name": "allow"}}])) == set()
}

test_success_other_pods if {
	found(with_policies([{"podSelector": {"matchLabels": {"app": "web"}}, "ingress": []}])) == set()
	found(with_policies([{"podSelector": {"matchExpressions": [{"key": "jobset.sigs.k8s.io/jobset-name", "operator": "DoesNotExist"}]}, "ingress": []}])) == set()
	found(with_policies([{"podSelector": {"matchExpressions": [{"key": "jobset.sigs.k8s.io/jobset-name", "operator": "NotIn", "values": ["run-1"]}]}, "ingress": []}])) == set()
}

test_success_one_worker if {
	found(json.patch(alone({"ingress": []}), [{"op": "replace", "path": "/workloads/0/pods/0/count", "value": 1}])) == set()
}

test_success_network_of_the_node if {
	found(fixture.with_pod(alone({"ingress": []}), "hostNetwork", true)) == set()
}

namespaces(labels) := alone({"ingress": [{"from": [{"namespaceSelector": {"matchLabels": labels}}]}]})

test_success_namespace if found(namespaces({"kubernetes.io/metadata.name": "team"})) == set()

test_fail_another_namespace if {
	found(namespaces({"kubernetes.io/metadata.name": "other"})) == {["error", "ingress", 3]}
	found(namespaces({"tier": "front"})) == {["error", "ingress", 3]}
}

test_fail_a_run_that_does_not_exist if {
	found(with_policies([object.union(right, {"podSelector": {"matchLabels": {"jobset.sigs.k8s.io/jobset-name": "run-0"}}})])) == {["warning", "podSelector", 3]}
}
