# METADATA
# title: What a ClusterQueue can ever give
# description: |
#   Kueue's potentialAvailable: the nominal quota, and in a cohort what the others lend, up to the borrowing limit.
#   It is an upper limit: where the cohort may have members outside the input it is unlimited.
# related_resources:
# - ref: https://github.com/kubernetes-sigs/kueue/blob/v0.17.0/pkg/cache/scheduler/resource_node.go
package lib.quota

import data.lib

unlimited := 1e30

# The most of a resource that a ClusterQueue gets in a flavor when everything else is idle.
capacity(queue, flavor, resource) := nominal(queue, flavor, resource) if cohort(queue) == ""

capacity(queue, flavor, resource) := min([own + borrowing, own + lent(queue, flavor, resource)]) if {
	cohort(queue) != ""
	own := nominal(queue, flavor, resource)
	borrowing := limit(quota(queue, flavor, resource), "borrowingLimit", unlimited)
}

cohort(queue) := object.get(queue.spec, "cohortName", object.get(queue.spec, "cohort", ""))

quota(holder, flavor, resource) := [q |
	some group in holder.spec.resourceGroups
	some f in group.flavors
	f.name == flavor
	some q in f.resources
	q.name == resource
][0]

nominal(holder, flavor, resource) := limit(quota(holder, flavor, resource), "nominalQuota", 0)

limit(given, field, _) := lib.quantity(given[field])

limit(given, field, otherwise) := otherwise if object.get(given, field, null) == null

# What a queue's cohort can lend it. Where its members are not in the input that is not known, and not limited.
lent(queue, flavor, resource) := unlimited if _unknown(queue, flavor, resource)

lent(queue, flavor, resource) := from_queues + from_cohorts if {
	not _unknown(queue, flavor, resource)
	from_queues := sum([min([nominal(q, flavor, resource), limit(quota(q, flavor, resource), "lendingLimit", unlimited)]) |
		some q in lib.objects("kueue.x-k8s.io", "ClusterQueue")
		q.metadata.name != queue.metadata.name
		_related(cohort(q), cohort(queue))
	])
	from_cohorts := sum([nominal(c, flavor, resource) |
		some c in lib.objects("kueue.x-k8s.io", "Cohort")
		_related(c.metadata.name, cohort(queue))
	])
}

_unknown(_, _, _) if _members_outside

_unknown(queue, flavor, resource) if lenders_missing(queue, flavor, resource)

# A cohort of one lends nothing; a borrowingLimit says that there are others.
lenders_missing(queue, flavor, resource) if {
	cohort(queue) != ""
	lib.quantity(quota(queue, flavor, resource).borrowingLimit) > 0
	count([q | some q in lib.objects("kueue.x-k8s.io", "ClusterQueue"); _related(cohort(q), cohort(queue))]) == 1
	count([c | some c in lib.objects("kueue.x-k8s.io", "Cohort"); _related(c.metadata.name, cohort(queue))]) == 0
}

_members_outside if {
	some e in input.cluster.external
	e.kind in {"ClusterQueue", "Cohort"}
}

# Cohorts form trees; what any member of a tree lends counts for all of it, which can only be too generous.
_related(one, other) if other in graph.reachable(_neighbours, {one})

_neighbours := {name: union({up[name], _below(name)}) | some name in _names}

_below(name) := {other | some other, above in up; name in above}

# Each cohort and its parent, where it has one.
up := {name: _above(name) | some name in _names}

_above(name) := {parent(c) |
	some c in lib.objects("kueue.x-k8s.io", "Cohort")
	c.metadata.name == name
	parent(c) != ""
}

_names := union({
	{c.metadata.name | some c in lib.objects("kueue.x-k8s.io", "Cohort")},
	{parent(c) | some c in lib.objects("kueue.x-k8s.io", "Cohort")},
	{cohort(q) | some q in lib.objects("kueue.x-k8s.io", "ClusterQueue")},
}) - {""}

parent(c) := object.get(c, ["spec", parent_field(c)], "")

# The first API called it `parent`.
parent_field(c) := "parent" if c.spec.parent

parent_field(c) := "parentName" if not c.spec.parent
