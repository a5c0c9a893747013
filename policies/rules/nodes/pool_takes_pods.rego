# METADATA
# title: A pool takes the pods of a run
# description: |
#   A nodeSelector, a required node affinity or a taint that nobody tolerates keeps pods from nodes. Where it keeps them
#   from every pool they stay Pending for ever; an autoscaler makes no node for them either. Judged by labels, taints and
#   architecture of the pools as far as cluster.yaml gives them, with what the flavors of the run's ClusterQueue add.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/
# - ref: https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
# custom:
#   symptoms:
#   - "FailedScheduling: node(s) didn't match Pod's node affinity/selector, for ever"
#   - "FailedScheduling: node(s) had untolerated taint, for ever"
#   severity: error
#   needs: cluster
#   seen:
#   - "lab: tests/lab/test_topology.py::test_a_taint_that_pods_do_not_tolerate_keeps_them_pending"
#   - "lab: tests/lab/test_nodes.py::test_pods_that_no_node_takes_hold_their_quota_and_wait"
#   - "source: kueue pkg/podset/podset.go"
#   fix: "Ask for labels that a pool in cluster.yaml has, and tolerate its taints; or write into cluster.yaml what its nodes really have."
#   example: |
#     # cluster.yaml: nodes: [{pool: h100, architecture: arm64, labels: {gpu: h100}, ...}]
#     spec:
#       nodeSelector: {kubernetes.io/arch: amd64}
package rules.nodes.pool_takes_pods

import data.lib
import data.lib.pools
import data.lib.queueing

report contains lib.in_workload(w, lib.pod_path(g, pools.place(g)), message) if {
	count(input.cluster.nodes) > 0
	some w in queueing.here
	not no_flavor_has_nodes(w)
	some pod in w.pods
	pod.count > 0
	g := {"workload": w, "pod": pod}
	count(pools.open(g)) == 0
	message := sprintf("no pool of cluster %s takes the pods of %s (%s): they stay Pending for ever", [
		input.cluster.name,
		pod.name,
		concat("; ", [sprintf("pool %s: %s", [pool.pool, concat(", ", sort(pools.obstacles(pool, g)))]) | some pool in input.cluster.nodes]),
	])
}

# What queue/flavor-has-nodes says of the flavors.
no_flavor_has_nodes(w) if {
	count(pools.flavors(w)) > 0
	every flavor in pools.flavors(w) { pools.nowhere(object.get(flavor.spec, "nodeLabels", {})) }
}
