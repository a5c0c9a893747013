# METADATA
# title: Workers find one another before they are ready
# description: |
#   Every worker looks up all others while it starts, when none is ready yet. With publishNotReadyAddresses false the
#   headless Service keeps them out of DNS: where a readinessProbe waits for the training, each waits for the others
#   until the run times out, again and again. JobSet's default is true, but nothing in the manifest would say that the
#   run depends on it.
# related_resources:
# - ref: https://github.com/kubeflow/trainer/issues/1458
#   description: workers that start before their peers are in DNS
# - ref: https://jobset.sigs.k8s.io/docs/reference/jobset.v1alpha2/#jobset-x-k8s-io-v1alpha2-Network
#   description: the network fields of a JobSet
# custom:
#   symptoms:
#   - "[Discovery] … found 1 workers"
#   - "gRPC Unavailable at start, a peer's name does not resolve"
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_workers_that_are_ready_only_when_all_are_found_never_find_one_another"
#   - "lab: tests/lab/test_training.py::test_a_peer_has_a_name_before_it_is_ready"
#   - "source: jobset pkg/webhooks/jobset_webhook.go"
#   severity: error
#   fix: "Write `network: {publishNotReadyAddresses: true}` in the spec of the JobSet (runtime: spec.template.spec)."
#   example: |
#     network:
#       publishNotReadyAddresses: false
package rules.jobset.publish_not_ready_addresses

import data.lib

report contains lib.in_workload(w, ["spec", "network", "publishNotReadyAddresses"], message(published)) if {
	some g in lib.gangs
	w := g.workload
	published := object.get(w.jobset.spec, ["network", "publishNotReadyAddresses"], null)
	published != true
}

message(false) := "publishNotReadyAddresses is false: DNS hides workers until they are ready, so starting workers never find one another"

message(null) := "publishNotReadyAddresses is not set: workers must find one another in DNS before they are ready, so it has to be true"
