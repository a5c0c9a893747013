# METADATA
# title: Images come from where the cluster allows
# description: |
#   Where cluster.yaml names registries, an image of another one is code that nobody here has looked at, or one that the
#   nodes cannot reach. Names are compared by whole components, as the container runtime completes them: tensorflow/serving
#   is docker.io/tensorflow/serving. Where it asks for digests, a tag is not enough: whoever can push can move it.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/containers/images/#image-names
# - ref: https://github.com/distribution/reference/blob/v0.6.0/normalize.go
#   description: how a short name is completed
# custom:
#   severity: warning
#   needs: cluster
#   seen:
#   - "source: kubernetes pkg/util/parsers/parsers.go"
#   fix: "Take the image from one of images.registries in cluster.yaml, named by its digest (registry.example/tf@sha256:…; with a tag before it for people), or add the registry there."
#   example: |
#     # cluster.yaml: images: {registries: [nvcr.io/nvidia]}
#     containers:
#     - name: node
#       image: nvcr.io/nvidia-mirror/tensorflow:24.03-tf2-py3
package rules.images.allowed

import data.lib
import data.lib.images
import data.lib.queueing

report contains lib.in_workload(u.workload, u.path, sprintf("image %s is not of a registry of cluster %s (%s)", [u.image, input.cluster.name, lib.joined(input.cluster.images.registries)])) if {
	some u in used
	every allowed in input.cluster.images.registries { not below(images.full(u.image), full_prefix(allowed)) }
}

report contains lib.in_workload(u.workload, u.path, sprintf("image %s is named by a tag, and cluster %s wants digests", [u.image, input.cluster.name])) if {
	some u in used
	input.cluster.images.digests
	not contains(u.image, "@")
}

# The images of what runs here; a runtime's own may be replaced by each of its runs.
used := [{"workload": w, "path": array.concat(c.path, ["image"]), "image": c.container.image} |
	some w in queueing.runs
	some pod in w.pods
	some c in lib.pod_containers({"workload": w, "pod": pod})
	object.get(c.container, "image", "") != ""
]

below(name, prefix) if name == prefix

below(name, prefix) if startswith(name, sprintf("%s/", [prefix]))

# `docker.io` alone is a registry, `tensorflow` alone one of its users.
full_prefix(allowed) := allowed if images.is_registry(split(allowed, "/")[0])

full_prefix(allowed) := sprintf("docker.io/%s", [allowed]) if not images.is_registry(split(allowed, "/")[0])
