# METADATA
# title: Kueue accepts the quotas
# description: |
#   What no schema and no CEL rule of the CRD says, but Kueue's webhook: a flavor or a resource stands in one resource group
#   only, the resources of a flavor are those of coveredResources in the same order, a queue lends no more than it has, and
#   limits of lending and borrowing need somebody to lend to or borrow from. The object is refused on the cluster, where
#   Argo CD tries it again and again and the old quotas stay.
# related_resources:
# - ref: https://github.com/kubernetes-sigs/kueue/blob/v0.17.0/pkg/webhooks/clusterqueue_webhook.go
# - ref: https://kueue.sigs.k8s.io/docs/concepts/cluster_queue/#resource-groups
# custom:
#   symptoms:
#   - "must match the name in coveredResources"
#   - "must be less than or equal to the nominalQuota"
#   severity: error
#   needs: cluster
#   seen:
#   - "lab: tests/lab/test_queues.py::test_queues_that_are_refused"
#   - "source: kueue pkg/webhooks/clusterqueue_webhook.go"
#   - "source: kueue pkg/webhooks/cohort_webhook.go"
#   fix: "Write each flavor and resource once, in the order of coveredResources, lendingLimit no higher than nominalQuota, and limits only with a cohortName (of a Cohort: a parentName)."
#   example: |
#     kind: ClusterQueue
#     metadata: {name: vision}
#     spec:
#       cohortName: all
#       resourceGroups:
#       - coveredResources: [cpu, nvidia.com/gpu]
#         flavors:
#         - name: a100
#           resources: [{name: nvidia.com/gpu, nominalQuota: 8, lendingLimit: 16}, {name: cpu, nominalQuota: 90}]
package rules.queue.quotas_accepted

import data.lib
import data.lib.quota

report contains lib.at(i, array.concat(groups, [g, "coveredResources", n]), sprintf("%s is in coveredResources twice", [resource])) if {
	some i, holder in holders
	some g, group in holder.spec.resourceGroups
	some n, resource in group.coveredResources
	some [other, m] in [[h, k] | some h, each in holder.spec.resourceGroups; some k, name in each.coveredResources; name == resource]
	[other, m] < [g, n]
}

report contains lib.at(i, array.concat(groups, [g, "flavors", n, "name"]), sprintf("flavor %s is listed twice", [flavor.name])) if {
	some i, holder in holders
	some g, group in holder.spec.resourceGroups
	some n, flavor in group.flavors
	some [other, m] in [[h, k] | some h, each in holder.spec.resourceGroups; some k, given in each.flavors; given.name == flavor.name]
	[other, m] < [g, n]
}

report contains lib.at(i, array.concat(path, ["name"]), sprintf("flavor %s has %s where coveredResources has %s", [flavor.name, given.name, group.coveredResources[n]])) if {
	some i, holder in holders
	some g, group in holder.spec.resourceGroups
	some f, flavor in group.flavors
	some n, given in flavor.resources
	given.name != group.coveredResources[n]
	path := array.concat(groups, [g, "flavors", f, "resources", n])
}

report contains lib.at(q.object, array.concat(q.path, ["lendingLimit"]), sprintf("lendingLimit %v is more than the nominalQuota %v", [q.given.lendingLimit, q.given.nominalQuota])) if {
	some q in quotas
	q.kind == "ClusterQueue"
	lib.quantity(q.given.lendingLimit) > lib.quantity(q.given.nominalQuota)
}

# Of borrowingLimit schema/cel says it.
report contains lib.at(q.object, array.concat(q.path, ["lendingLimit"]), "lendingLimit without a cohort to lend to") if {
	some q in quotas
	q.kind == "ClusterQueue"
	quota.cohort(input.objects[q.object]) == ""
	object.get(q.given, "lendingLimit", null) != null
}

report contains lib.at(q.object, array.concat(q.path, [field]), sprintf("%s of a Cohort without a parent", [field])) if {
	some q in quotas
	q.kind == "Cohort"
	some field in ["lendingLimit", "borrowingLimit"]
	quota.parent(input.objects[q.object]) == ""
	object.get(q.given, field, null) != null
}

groups := ["spec", "resourceGroups"]

holders := object.union(lib.objects("kueue.x-k8s.io", "ClusterQueue"), lib.objects("kueue.x-k8s.io", "Cohort"))

quotas := [{"object": i, "kind": holder.kind, "given": given, "path": array.concat(groups, [g, "flavors", f, "resources", n])} |
	some i, holder in holders
	some g, group in holder.spec.resourceGroups
	some f, flavor in group.flavors
	some n, given in flavor.resources
]
