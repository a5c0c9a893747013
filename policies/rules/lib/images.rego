# METADATA
# title: The parts of an image's name
# description: |
#   As the kubelet reads it: what stands before the first slash is a registry where it looks like a host, docker.io is meant
#   where none is given.
# related_resources:
# - ref: https://github.com/distribution/reference/blob/v0.6.0/normalize.go
package lib.images

# What people write where a kustomization's `images:` or an image updater should write the tag.
placeholders := {"unset", "placeholder", "changeme", "change-me", "todo", "tbd", "replace-me", "replaceme", "fixme"}

is_placeholder(image) if lower(tag(image)) in placeholders

is_placeholder(image) if {
	tag(image) == ""
	lower(last_part(image)) in placeholders
}

is_placeholder(image) if regex.match(`[<>${}]`, image)

# The container that a TrainJob gives its image to.
provided_later(g, container) if {
	endswith(g.workload.kind, "TrainingRuntime")
	g.pod.trainer
	container.name == "node"
}

# The name with its tag and without its digest.
without_digest(image) := split(image, "@")[0]

# The tag: after the last colon, unless that one belongs to the registry's port.
tag(image) := concat("", array.slice(split(last_part(without_digest(image)), ":"), 1, 2))

last_part(image) := parts[count(parts) - 1] if parts := split(image, "/")

# The name without tag and digest, with its registry.
full(image) := with_registry(regex.replace(without_digest(image), `:[^:/]*$`, ""))

with_registry(name) := name if {
	contains(name, "/")
	is_registry(split(name, "/")[0])
}

with_registry(name) := sprintf("docker.io/%s", [name]) if {
	contains(name, "/")
	not is_registry(split(name, "/")[0])
}

with_registry(name) := sprintf("docker.io/library/%s", [name]) if not contains(name, "/")

is_registry(part) if regex.match(`[.:A-Z]|^localhost$`, part)
