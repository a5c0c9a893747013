# METADATA
# title: A claim that several pods of a run mount can be mounted by all of them
# description: |
#   ReadWriteOncePod is for one pod in the whole cluster: the scheduler leaves every other pod of the run Pending, and the
#   gang waits for it. ReadWriteOnce is for one node: as soon as the pods are on several, a volume that is attached to nodes
#   stays with the first (Multi-Attach error) and the others wait in ContainerCreating. Not judged where the volume is given by its name
#   or the cluster has one node.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/storage/persistent-volumes/#access-modes
# custom:
#   symptoms:
#   - "FailedScheduling: PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
#   - "FailedAttachVolume: Multi-Attach error"
#   seen:
#   - "lab: tests/lab/test_admitted.py::test_of_the_pods_that_mount_a_claim_for_one_pod_one_starts"
#   - "lab: tests/lab/test_topology.py::test_a_volume_of_one_node_keeps_away_from_the_pod_on_another"
#   - "source: kubernetes pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go"
#   - "source: kubernetes pkg/volume/util/util.go"
#   severity: error
#   fix: "Write accessModes: [ReadWriteMany] for a claim that is written, [ReadOnlyMany] for one that is only read, of a storage class that provides it. A claim's access modes cannot be edited once it exists: make a new one."
#   example: |
#     kind: PersistentVolumeClaim
#     metadata: {name: checkpoints}
#     spec: {accessModes: [ReadWriteOncePod]}  # and three workers mount it
package rules.pods.shared_claim

import data.lib
import data.lib.claims
import data.lib.pools
import data.lib.queueing

report contains claims.finding(w, claim, message) if {
	some [w, claim, pods] in shared
	claims.only(claim, "ReadWriteOncePod")
	message := sprintf("claim %s is ReadWriteOncePod, and %d pods of %s %s use it: one starts, the others stay Pending", [claim.name, pods, w.kind, w.name])
}

report contains object.union(claims.finding(w, claim, message), {"severity": "warning"}) if {
	some [w, claim, pods] in shared
	claims.only(claim, "ReadWriteOnce")
	claims.provisioned(claim)
	not one_node
	not beside_one_another(w, claim)
	message := sprintf("claim %s is ReadWriteOnce, and %d pods of %s %s use it: those on another node than the first may not get it", [claim.name, pods, w.kind, w.name])
}

# Claims that more than one pod at a time uses.
shared contains [w, claim, pods] if {
	some w in queueing.here
	some g in lib.pods_of(w)
	some claim in claims.of(g)
	pods := at_once(w, [other.pod.count | some other in lib.pods_of(w); claim.name in {c.name | some c in claims.of(other)}])
	pods > 1
}

at_once(w, counts) := max(counts) if queueing.in_order(w)

at_once(w, counts) := sum(counts) if not queueing.in_order(w)

one_node if {
	count(input.cluster.nodes) > 0
	sum([pools.largest(pool) | some pool in input.cluster.nodes]) == 1
}

# Pods that are held on one node: by its name, or beside one another.
beside_one_another(w, claim) if {
	some g in lib.pods_of(w)
	claim.name in {c.name | some c in claims.of(g)}
	held(lib.pod_spec(g))
}

held(spec) if spec.nodeName

held(spec) if spec.nodeSelector["kubernetes.io/hostname"]

held(spec) if {
	some term in spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution
	term.topologyKey == "kubernetes.io/hostname"
}
