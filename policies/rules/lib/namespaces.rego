# METADATA
# title: Whether a label selector selects a namespace
# description: Labels of a namespace that is not in the input are unknown, but for its name.
package lib.namespaces

import data.lib

# The requirements that a namespace surely does not meet.
unmet(selector, namespace) := array.concat(
	[sprintf("%s must be %s", [key, value]) |
		some key, value in selector.matchLabels
		known(namespace, key)
		object.get(labels(namespace), key, null) != value
	],
	[sprintf("%s %s %s", [e.key, e.operator, concat(",", object.get(e, "values", []))]) |
		some e in selector.matchExpressions
		known(namespace, e.key)
		lib.unmet(e, object.get(labels(namespace), e.key, null))
	],
)

labels(namespace) := object.union(
	object.union_n([object.get(o.metadata, "labels", {}) | some o in manifests(namespace)]),
	{"kubernetes.io/metadata.name": namespace},
)

manifests(namespace) := [o | some o in lib.objects_named("", "Namespace", namespace)]

known(_, "kubernetes.io/metadata.name")

known(namespace, _) if count(manifests(namespace)) > 0
