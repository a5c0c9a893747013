# METADATA
# title: Workers have names in DNS
# description: |
#   The addresses in TF_CONFIG are host names, {job}-{replicatedJob}-{replica}-{index}.{subdomain}. With
#   enableDNSHostnames false JobSet makes no headless Service and sets no subdomain, and with completionMode NonIndexed
#   the pods have no index and random names: no worker finds another.
# related_resources:
# - ref: https://jobset.sigs.k8s.io/docs/reference/jobset.v1alpha2/#jobset-x-k8s-io-v1alpha2-Network
#   description: the network fields of a JobSet
# custom:
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_without_dns_hostnames_no_worker_has_a_name"
#   - "lab: tests/lab/test_gate_and_cluster.py::test_without_indexes_no_worker_has_a_name"
#   - "source: jobset pkg/controllers/jobset_controller.go"
#   - "source: jobset pkg/webhooks/jobset_webhook.go"
#   severity: error
#   fix: "Remove `enableDNSHostnames: false` and `completionMode: NonIndexed` (the defaults are true and Indexed)."
#   example: |
#     network:
#       enableDNSHostnames: false
package rules.jobset.dns_hostnames

import data.lib

report contains lib.in_workload(g.workload, ["spec", "network", "enableDNSHostnames"], message) if {
	some g in lib.gangs
	g.workload.jobset.spec.network.enableDNSHostnames == false
}

report contains lib.in_workload(g.workload, lib.job_path(g, ["completionMode"]), "completionMode is NonIndexed: the workers have no index and no names in DNS, and never find one another") if {
	some g in lib.gangs
	lib.job_spec(g).completionMode == "NonIndexed"
}

message := "enableDNSHostnames is false: the workers have no names in DNS and never find one another"
