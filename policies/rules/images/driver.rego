# METADATA
# title: The driver of a pool is new enough for the image's CUDA
# description: |
#   CUDA 11 needs driver 450 or newer, CUDA 12 525, CUDA 13 580. With an older one TensorFlow finds no GPU and trains on the
#   CPU, or ends with "CUDA driver version is insufficient", unless the image has NVIDIA's forward-compatibility package and the
#   GPU is one of a data centre. Judged where a pool's `driver` is given and the image's name says its CUDA
#   (cuda12.2, cu121, nvidia/cuda:12.4.1) or is one of TensorFlow's own (tensorflow/tensorflow:2.15.0-gpu).
# related_resources:
# - ref: https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
#   description: the oldest driver of each major version of CUDA
# - ref: https://www.tensorflow.org/install/source#gpu
#   description: which CUDA TensorFlow's own images have
# custom:
#   symptoms:
#   - "CUDA driver version is insufficient for CUDA runtime version"
#   - "Cannot dlopen some GPU libraries. Skipping registering GPU devices"
#   severity: warning
#   needs: cluster
#   fix: "Take an image with an older CUDA, send the pods to a pool with a newer driver (nodeSelector), or raise the driver of the nodes."
#   example: |
#     # cluster.yaml: nodes: [{pool: v100, driver: "470.57.02", ...}]
#     containers:
#     - name: node
#       image: tensorflow/tensorflow:2.15.0-gpu  # CUDA 12
package rules.images.driver

import data.lib
import data.lib.images
import data.lib.pools
import data.lib.queueing

report contains lib.in_workload(w, array.concat(c.path, ["image"]), message) if {
	some w in queueing.here
	some pod in w.pods
	g := {"workload": w, "pod": pod}
	some c in lib.pod_containers(g)
	lib.container_request(c.container, "nvidia.com/gpu") > 0
	cuda := major(c.container.image)
	some pool in pools.holding(g)
	to_number(split(pool.driver, ".")[0]) < oldest[cuda]
	message := sprintf("image %s has CUDA %d, which needs driver %d or newer, and pool %s has %s", [c.container.image, cuda, oldest[cuda], pool.pool, pool.driver])
}

oldest := {11: 450, 12: 525, 13: 580}

# The major version of CUDA that an image's name tells.
major(image) := to_number(found) if {
	found := regex.find_all_string_submatch_n(`(?:^|[^a-z])cuda[-_.:v]?(1[1-3])(?:[^0-9]|$)`, images.without_digest(image), 1)[0][1]
}

major(image) := to_number(found) if {
	not contains(images.without_digest(image), "cuda")
	found := regex.find_all_string_submatch_n(`[-_.:]cu(1[1-3])[0-9](?:[^0-9]|$)`, images.without_digest(image), 1)[0][1]
}

# TensorFlow's own images: CUDA 11 from 2.4 to 2.14, 12 from 2.15.
major(image) := version if {
	regex.match(`^(docker\.io/)?tensorflow/tensorflow:2\.[0-9]+\.[0-9]+-gpu(-jupyter)?$`, images.without_digest(image))
	minor := to_number(split(split(images.without_digest(image), ":")[1], ".")[1])
	version := {true: 12, false: 11}[minor >= 15]
	minor >= 4
}
