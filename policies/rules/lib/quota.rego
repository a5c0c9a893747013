# METADATA
# title: What a ClusterQueue can ever give
# description: |
#   Kueue's potentialAvailable: the nominal quota, and in a cohort what the others lend, up to the borrowing limits of the
#   queue and of the cohorts above it, and to the lending limits of the cohorts that the others are in.
#   It is an upper limit: where the cohort may have members outside the input it is unlimited.
# related_resources:
# - ref: https://github.com/kubernetes-sigs/kueue/blob/v0.17.0/pkg/cache/scheduler/resource_node.go
package lib.quota

import data.lib

unlimited := 1e30

# The most of a resource that a ClusterQueue gets in a flavor when everything else is idle.
capacity(queue, flavor, resource) := nominal(queue, flavor, resource) if cohort(queue) == ""

capacity(queue, flavor, resource) := own + min(others) if {
	cohort(queue) != ""
	own := nominal(queue, flavor, resource)
	borrowing := limit(quota(queue, flavor, resource), "borrowingLimit", unlimited)
	others := _within(queue, flavor, resource) | {borrowing, lent(queue, flavor, resource)}
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

lent(queue, flavor, resource) := _given(_members(queue, flavor, resource), queue, flavor, resource) if not _unknown(queue, flavor, resource)

# What each cohort above the queue that borrows no more than a limit can give: what its own members lend, and the limit.
_within(queue, flavor, resource) := {most |
	not _unknown(queue, flavor, resource)
	some name in _line(cohort(queue))
	borrowing := _cohort_limit(name, flavor, resource, "borrowingLimit")
	members := [member | some member in _members(queue, flavor, resource); name in _line(member.at)]
	most := _given(members, queue, flavor, resource) + borrowing
}

# What others in the tree have: the cohort where each stands, and how much it gives.
_members(queue, flavor, resource) := array.concat(
	[{"at": cohort(q), "gives": min([nominal(q, flavor, resource), limit(quota(q, flavor, resource), "lendingLimit", unlimited)])} |
		some q in lib.objects("kueue.x-k8s.io", "ClusterQueue")
		q.metadata.name != queue.metadata.name
		_related(cohort(q), cohort(queue))
	],
	[{"at": c.metadata.name, "gives": nominal(c, flavor, resource)} |
		some c in lib.objects("kueue.x-k8s.io", "Cohort")
		_related(c.metadata.name, cohort(queue))
	],
)

# What members give to a queue: those in another cohort together no more than that lends.
_given(members, queue, flavor, resource) := free + held if {
	free := sum([member.gives | some member in members; count(_lenders(member, queue, flavor, resource)) == 0])
	held := sum([min([most, all]) |
		some lender in {lender | some member in members; lender := _lender(member, queue, flavor, resource)}
		most := _cohort_limit(lender, flavor, resource, "lendingLimit")
		all := sum([member.gives | some member in members; _lender(member, queue, flavor, resource) == lender])
	])
}

# The outermost of the cohorts between a member and the queue that lend no more than a limit.
_lender(member, queue, flavor, resource) := [name |
	lenders := _lenders(member, queue, flavor, resource)
	some name in lenders
	count(lenders & _line(name)) == 1
][0]

_lenders(member, queue, flavor, resource) := {name |
	some name in (_line(member.at) - _line(cohort(queue)))
	_cohort_limit(name, flavor, resource, "lendingLimit")
}

_cohort_limit(name, flavor, resource, field) := [lib.quantity(quota(c, flavor, resource)[field]) |
	some c in lib.objects_named("kueue.x-k8s.io", "Cohort", name)
][0]

# A cohort and all above it.
_line(name) := graph.reachable(up, {name})

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
	some c in lib.objects_named("kueue.x-k8s.io", "Cohort", name)
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
