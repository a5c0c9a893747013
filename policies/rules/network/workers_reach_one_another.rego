# METADATA
# title: NetworkPolicies let the workers of a run reach one another
# description: |
#   A pod that some NetworkPolicy selects gets only what one of its policies lets through. Workers need one another on
#   every port (NCCL takes any) and DNS to find one another, and where pods report their progress, Trainer's status server
#   (10443). What is not let through is dropped, by some networks refused; each worker tries until the run times out. Data
#   and checkpoints on a claim need nothing, since the node mounts them.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/services-networking/network-policies/
#   description: policies add up, and what none allows is dropped
# - ref: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-socket-ifname
#   description: NCCL connects all workers with one another
# custom:
#   symptoms:
#   - "discovery times out although every pod runs"
#   - "NCCL WARN … connect to … Connection timed out"
#   seen:
#   - "lab: tests/lab/test_network_policies.py::test_with_the_policy_of_gate_new_the_workers_reach_one_another"
#   - "lab: tests/lab/test_network_policies.py::test_workers_that_a_policy_keeps_apart_wait_until_they_give_up"
#   - "lab: tests/lab/test_network_policies.py::test_with_some_ports_alone_they_start_and_never_reach_one_another"
#   - "source: kubernetes staging/src/k8s.io/api/networking/v1/types.go"
#   - "source: trainer pkg/apis/config/v1alpha1/defaults.go"
#   severity: error
#   needs: cluster
#   fix: "Let pods with the run's label jobset.sigs.k8s.io/jobset-name in from and out to one another without `ports`, and out to port 53 (UDP and TCP); `gate new run` writes such a policy."
#   example: |
#     kind: NetworkPolicy
#     spec:
#       podSelector: {matchLabels: {jobset.sigs.k8s.io/jobset-name: resnet-7}}
#       ingress:
#       - from: [{podSelector: {matchLabels: {jobset.sigs.k8s.io/jobset-name: resnet-6}}}]  # of the run before
package rules.network.workers_reach_one_another

import data.lib
import data.lib.infiniband
import data.lib.policies

# Nothing gets through between workers, or only some ports.
report contains object.union(finding(g, direction, message), {"severity": severity}) if {
	some g in isolated
	some direction in directions
	count(policies.selecting(g, direction)) > 0
	some p in workers(g.workload)
	reaching := [rule | some rule in policies.rules(g, direction); policies.reaches(rule, direction, p)]
	not any_complete(reaching)
	severity := severity_of(g, reaching)
	message := sprintf("the workers of %s reach one another on %s (%s): each waits for the others until the run times out", [g.workload.name, through(reaching), direction])
}

# Workers find one another by DNS, which is not in their namespace.
report contains finding(g, "Egress", sprintf("the workers of %s cannot ask DNS (port 53, UDP), so they never find one another", [g.workload.name])) if {
	some g in isolated
	count(policies.selecting(g, "Egress")) > 0
	not out(g, "UDP", 53)
}

report contains object.union(finding(g, "Egress", message), {"severity": "warning", "fix": fix}) if {
	some g in isolated
	g.workload.kind == "TrainJob"
	input.cluster.featureGates.TrainJobStatus == true
	count(policies.selecting(g, "Egress")) > 0
	not out(g, "TCP", 10443)
	message := sprintf("the workers of %s cannot reach Trainer's status server (port 10443): the run shows no progress", [g.workload.name])
	fix := "Let the run's pods out to port 10443 of Trainer's namespace."
}

# A policy for a run that there is none of.
report contains object.union(lib.at(i, ["spec", "podSelector", "matchLabels", policies.run_label], message), {"severity": "warning", "fix": fix}) if {
	some i, policy in lib.objects("networking.k8s.io", "NetworkPolicy")
	name := policy.spec.podSelector.matchLabels[policies.run_label]
	namespace := object.get(policy.metadata, "namespace", "")
	not name in {w.name | some w in input.workloads; w.kind in {"TrainJob", "JobSet"}; w.namespace == namespace}
	message := sprintf("the policy selects the pods of run %s, and namespace %s has no such run: it protects nothing", [name, namespace])
	fix := "Write the name of the run in the label, or remove the policy."
}

directions := ["Ingress", "Egress"]

# Gangs that policies apply to: pods in the network of their node are not subject to any.
isolated := [g |
	some g in lib.gangs
	g.workload.kind in {"TrainJob", "JobSet"}
	not infiniband.host_network(g)
	not policies.elsewhere(g.workload.namespace)
]

workers(workload) := [g | some g in lib.gangs; g.workload.index == workload.index]

any_complete(rules) if {
	some rule in rules
	policies.every_port(rule)
}

# Ports alone can be enough for gRPC; NCCL takes any.
severity_of(_, []) := "error"

severity_of(g, reaching) := "error" if {
	count(reaching) > 0
	uses_nccl(g)
}

severity_of(g, reaching) := "warning" if {
	count(reaching) > 0
	not uses_nccl(g)
}

uses_nccl(g) if {
	some resource, _ in g.pod.limits
	lib.extended(resource)
}

through([]) := "no port"

through(reaching) := "some ports only" if count(reaching) > 0

out(g, protocol, number) if {
	some rule in policies.rules(g, "Egress")
	policies.leaves(rule, "Egress")
	policies.port(rule, protocol, number)
}

# At the first of the policies that select the pods, where the rules of that direction are or should be.
finding(g, direction, message) := lib.at(min(object.keys(policies.selecting(g, direction))), ["spec", lower(direction)], message)
