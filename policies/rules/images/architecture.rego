# METADATA
# title: An image runs on the nodes that a pod may land on
# description: |
#   An image is built for certain architectures, and on another one its container ends at once with "exec format error".
#   Two things can be told without the registry: a name that says the architecture (…-arm64, arm64v8/…) against the pools
#   that the pods may land on, and pods that may land on pools of both, which only an image for both survives.
# related_resources:
# - ref: https://kubernetes.io/docs/reference/labels-annotations-taints/#kubernetes-io-arch
# - ref: https://github.com/docker-library/official-images#architectures-other-than-amd64
#   description: architectures in image names
# custom:
#   symptoms:
#   - "exec format error"
#   severity: warning
#   needs: cluster
#   seen:
#   - "lab: tests/lab/test_images.py::test_an_image_of_another_architecture_ends_at_once"
#   - "source: kubernetes pkg/kubelet/kubelet_node_status.go"
#   fix: "Write `nodeSelector: {kubernetes.io/arch: …}` for the architecture of the image into the pod template, or take an image of the pool's."
#   example: |
#     # cluster.yaml: nodes: [{pool: gh200, architecture: arm64, ...}]
#     containers:
#     - name: node
#       image: registry.example/tf:2.15-amd64
package rules.images.architecture

import data.lib
import data.lib.images
import data.lib.pools
import data.lib.queueing

report contains lib.in_workload(g.workload, path, sprintf("image %s is for %s by its name, and the pods may land on pool %s, which is %s", [c.container.image, named, pool.pool, pool.architecture])) if {
	some g in all
	some c in lib.pod_containers(g)
	named := architecture(c.container.image)
	some pool in pools.holding(g)
	pool.architecture != named
	path := array.concat(c.path, ["image"])
}

report contains lib.in_workload(g.workload, lib.pod_path(g, ["nodeSelector"]), sprintf("the pods of %s may land on pools of several architectures (%s): every image must be built for all of them", [g.pod.name, concat(", ", sort(told))])) if {
	some g in all
	told := {sprintf("%s: %s", [pool.pool, pool.architecture]) | some pool in pools.holding(g)}
	count({pool.architecture | some pool in pools.holding(g)}) > 1
	every c in lib.pod_containers(g) { not architecture(c.container.image) }
}

all := [{"workload": w, "pod": pod} | some w in queueing.here; some pod in w.pods]

architecture(image) := names[found] if {
	found := regex.find_all_string_submatch_n(`[-_.](amd64|x86_64|x86-64|arm64|aarch64)$`, images.without_digest(image), 1)[0][1]
}

architecture(image) := {"amd64": "amd64", "arm64v8": "arm64"}[part] if {
	not regex.match(`[-_.](amd64|x86_64|x86-64|arm64|aarch64)$`, images.without_digest(image))
	part := split(trim_prefix(image, "docker.io/"), "/")[0]
}

names := {"amd64": "amd64", "x86_64": "amd64", "x86-64": "amd64", "arm64": "arm64", "aarch64": "arm64"}
