# METADATA
# title: A node that is made for a run comes before its workers give up
# description: |
#   Without gang admission the pods of a run start one by one: the first wait for those whose nodes an autoscaler still has
#   to make, and tfrun gives up after TF_DISCOVERY_TIMEOUT (900 s if it is not set), which costs a restart of the gang.
#   Volcano's gangs, Kueue's topologies and Kueue's provisioning requests start no pod before there is a node for each, so
#   they are left out. An error where the run needs new nodes beside those that are there, and all restarts together are
#   over before the first of them can come.
# related_resources:
# - ref: https://kueue.sigs.k8s.io/docs/concepts/admission_check/provisioning_request/
#   description: Kueue waits for the nodes before it starts the pods
# - ref: https://github.com/kubernetes-sigs/kueue/tree/v0.17.0/keps/1136-provisioning-request-support
# custom:
#   symptoms:
#   - "workers give up while the autoscaler still makes nodes"
#   - "not started after 900 s (TF_DISCOVERY_TIMEOUT)"
#   - "worker 0 refuses: at its deadline, … of … workers, waiting for index …"
#   severity: warning
#   needs: cluster
#   seen:
#   - "lab: tests/lab/test_kueue.py::test_kueue_stops_what_its_patience_does_not_suffice_for_again_and_again"
#   - "lab: tests/lab/test_nodes.py::test_workers_that_give_up_before_a_node_comes_cost_restarts_and_the_run"
#   - "lab: tests/lab/test_faults.py::test_all_wait_for_a_worker_that_comes_late"
#   - "source: kueue pkg/controller/admissionchecks/provisioning/controller.go"
#   - "source: kueue pkg/scheduler/flavorassigner/tas_flavorassigner.go"
#   - "source: volcano pkg/scheduler/plugins/gang/gang.go"
#   fix: |
#     Set TF_DISCOVERY_TIMEOUT (trainer.env) above the pool's provisioningSeconds, or let the gang be admitted as a whole:
#     an AdmissionCheck of kueue.x-k8s.io/provisioning-request in the ClusterQueue, or Volcano.
#   example: |
#     # cluster.yaml: nodes: [{pool: h100, count: 1, maxCount: 8, provisioningSeconds: 1200, ...}]
#     kind: TrainJob
#     spec:
#       trainer:
#         numNodes: 4
#         env: [{name: TF_DISCOVERY_TIMEOUT, value: "600"}]
package rules.nodes.provisioned_in_time

import data.lib
import data.lib.environment
import data.lib.pools
import data.lib.queueing
import data.lib.roles

report contains object.union(finding(g, patience.variable, message), {"severity": severity(g, patience.seconds, late)}) if {
	some g in lib.gangs
	queueing.is_here(g.workload)
	not started_together(g)
	patience := patience_of(g)
	late := [pool |
		some pool in pools.holding(g)
		pool.maxCount > pool.count
		pool.provisioningSeconds > patience.seconds
	]
	count(late) > 0
	message := sprintf("workers wait %v s for one another, and a new node of %s: those that start first give up", [
		patience.seconds,
		concat(", ", [sprintf("pool %s takes %d s", [pool.pool, pool.provisioningSeconds]) | some pool in late]),
	])
}

# Kueue's own patience, where its configuration is in the input.
report contains lib.at(c.object, ["data", c.key, "waitForPodsReady", "timeout"], message) if {
	some c in queueing.configurations
	seconds := time.parse_duration_ns(c.content.waitForPodsReady.timeout) / 1000000000
	some pool in input.cluster.nodes
	pool.maxCount > pool.count
	pool.provisioningSeconds > seconds
	message := sprintf("waitForPodsReady.timeout is %s, and a new node of pool %s takes %d s: Kueue stops a run that waits for one, again and again", [c.content.waitForPodsReady.timeout, pool.pool, pool.provisioningSeconds])
}

default_seconds := 900 # tfrun's

# How long the workers of a pod template wait, and where that is said; undefined where nobody knows.
patience_of(g) := {"seconds": to_number(variable.value), "variable": variable} if {
	variable := environment.variable(g, lib.trainer_container(g), "TF_DISCOVERY_TIMEOUT")
	regex.match(`^[0-9]+(\.[0-9]+)?$`, variable.value)
}

patience_of(g) := {"seconds": default_seconds, "variable": {"object": null, "path": path}} if {
	container := lib.containers(g)[lib.trainer_container(g)]
	not lib.env(container, "TF_DISCOVERY_TIMEOUT")
	not environment.variable(g, lib.trainer_container(g), "TF_DISCOVERY_TIMEOUT")
	roles.under_tfrun(g)
	path := lib.container_path(g, lib.trainer_container(g), ["env"])
}

finding(g, variable, message) := environment.finding(g, variable, message)

severity(g, seconds, late) := "error" if {
	every pool in pools.open(g) { told(pool, late) }
	ready := sum([places_in(pool, g) | some pool in pools.open(g)])
	ready > 0
	ready < g.pod.count
	every pool in late { pool.provisioningSeconds > seconds * (restarts(g.workload) + 1) }
} else := "warning"

# A pool that grows either is late or has its size: no other may bring nodes in time.
told(pool, late) if pool in late

told(pool, _) if not pool.maxCount > pool.count

places_in(pool, g) := pool.count * pools.per_node(pool, g)

restarts(workload) := object.get(workload.jobset.spec, ["failurePolicy", "maxRestarts"], 0)

# No pod starts before all have a node; also what is not known: another scheduler, a queue that is not in the input.
started_together(g) if not object.get(lib.pod_spec(g), "schedulerName", "") in {"", "default-scheduler"}

started_together(g) if {
	queueing.local_queue(g.workload)
	not queueing.cluster_queue(g.workload)
}

started_together(g) if {
	some flavor in pools.flavors(g.workload)
	flavor.spec.topologyName
}

started_together(g) if {
	some name in queueing.checks(queueing.cluster_queue(g.workload))
	provisioning(name)
}

provisioning(name) if {
	some check in lib.objects_named("kueue.x-k8s.io", "AdmissionCheck", name)
	check.spec.controllerName == "kueue.x-k8s.io/provisioning-request"
}

provisioning(name) if {
	every check in lib.objects("kueue.x-k8s.io", "AdmissionCheck") { check.metadata.name != name }
}
