# METADATA
# title: Environment variables as a container gets them
# description: |
#   The last entry of `env` counts, literal or from a ConfigMap's key; else the last ConfigMap of `envFrom` that has the
#   variable. A literal's $(NAME) is the literal NAME of the same container. Undefined where the value comes from
#   elsewhere or from a ConfigMap that is not in the input.
package lib.environment

import data.lib

# {"value", "object", "path"}: where `object` is null the path leads into the workload, else into that object.
variable(g, i, name) := {"value": value, "object": null, "path": path} if {
	value := expanded(lib.containers(g)[i], lib.env(lib.containers(g)[i], name).entry.value)
	path := lib.container_path(g, i, ["env", lib.env(lib.containers(g)[i], name).index, "value"])
}

variable(g, i, name) := setting(g, source.name, source.key) if {
	source := lib.env(lib.containers(g)[i], name).entry.valueFrom.configMapKeyRef
}

variable(g, i, name) := found[count(found) - 1] if {
	container := lib.containers(g)[i]
	not lib.env(container, name)
	found := [value |
		some source in container.envFrom
		prefix := object.get(source, "prefix", "")
		startswith(name, prefix)
		value := setting(g, source.configMapRef.name, trim_prefix(name, prefix))
	]
	count(found) > 0
}

expanded(_, text) := text if not contains(text, "$(")

expanded(container, text) := strings.replace_n({sprintf("$(%s)", [name]): value | some name, value in values}, text) if {
	contains(text, "$(")
	names := {match[1] | some match in regex.find_all_string_submatch_n(`\$\(([^)]+)\)`, text, -1)}
	values := {name: value | some name in names; value := lib.env(container, name).entry.value; not contains(value, "$(")}
	count(values) == count(names)
}

# A key of a ConfigMap in the workload's namespace.
setting(g, name, key) := [{"value": value, "object": i, "path": ["data", key]} |
	some i, manifest in lib.objects_named("", "ConfigMap", name)
	object.get(manifest.metadata, "namespace", "") == g.workload.namespace
	value := manifest.data[key]
][0]

# A finding at the place that a value comes from.
finding(g, variable, message) := lib.in_workload(g.workload, variable.path, message) if variable.object == null

finding(_, variable, message) := lib.at(variable.object, variable.path, message) if variable.object != null
