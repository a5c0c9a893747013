package rules_test.images.allowed

import data.lib
import data.rules.images.allowed
import data.rules_test.runs

cluster(images) := json.patch(runs.kueue, [runs.set("/cluster/images", images)])

from(image, registries) := json.patch(cluster({"registries": registries}), [runs.put(sprintf("%s/image", [runs.node]), image)])

found(text) := {lib.in_workload({"index": 0}, array.concat(runs.node_path, ["image"]), text)}

test_fail_registry if {
	allowed.report == found("image nvcr.io/nvidia/tensorflow:24.03-tf2-py3 is not of a registry of cluster west (docker.io, registry.example)") with input as cluster({"registries": ["registry.example", "docker.io"]})
}

test_fail_names if {
	every pair in [
		["nvcr.io/nvidia-evil/tf:1", "nvcr.io/nvidia"],
		["nvcr.io.example/nvidia/tf:1", "nvcr.io"],
		["tensorflow/tensorflow:2.15", "nvcr.io"],
		["registry.example:5000/tf:1", "registry.example"],
		["ubuntu", "docker.io/tensorflow"],
		["nvidia/tf", "tensorflow"],
	] {
		count(allowed.report) == 1 with input as from(pair[0], [pair[1]])
	}
}

test_success_names if {
	every pair in [
		["nvcr.io/nvidia/tensorflow:24.03-tf2-py3", "nvcr.io/nvidia"],
		["tensorflow/tensorflow:2.15", "docker.io"],
		["tensorflow/tensorflow:2.15", "tensorflow"],
		["ubuntu:24.04", "docker.io/library"],
		["registry.example:5000/tf@sha256:abc", "registry.example:5000"],
		["registry.example/tf:1@sha256:abc", "registry.example/tf"],
	] {
		allowed.report == set() with input as from(pair[0], [pair[1]])
	}
}

test_fail_init_container if {
	count(allowed.report) == 1 with input as json.patch(from("nvcr.io/nvidia/tf:1", ["nvcr.io"]), [runs.set(sprintf("%s/initContainers", [runs.pod]), [{"name": "data", "image": "busybox:1"}])])
}

test_fail_tag if {
	allowed.report == found("image nvcr.io/nvidia/tensorflow:24.03-tf2-py3 is named by a tag, and cluster west wants digests") with input as cluster({"digests": true})
}

test_success_digest if {
	allowed.report == set() with input as json.patch(cluster({"digests": true}), [runs.put(sprintf("%s/image", [runs.node]), "nvcr.io/nvidia/tensorflow:24.03-tf2-py3@sha256:abc")])
}

test_success_nothing_said if {
	allowed.report == set() with input as runs.kueue
	allowed.report == set() with input as cluster({"digests": false})
}

test_success_unused_runtime if {
	allowed.report == set() with input as json.patch(cluster({"registries": ["registry.example"]}), [runs.put("/workloads/0/kind", "ClusterTrainingRuntime")])
}
