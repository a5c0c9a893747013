package rules_test.images.architecture

import data.lib
import data.rules.images.architecture
import data.rules_test.runs

pool(name, arch) := {"pool": name, "count": 4, "architecture": arch, "allocatable": {"nvidia.com/gpu": "8"}}

on(pools, image) := json.patch(runs.kueue, [runs.put("/cluster/nodes", pools), runs.put(sprintf("%s/image", [runs.node]), image)])

found(field, text) := {lib.in_workload({"index": 0}, array.concat(runs.pod_path, field), text)}

image_path := ["containers", 0, "image"]

test_fail_tag if {
	architecture.report == found(image_path, "image registry.example/tf:2.15-arm64 is for arm64 by its name, and the pods may land on pool a100, which is amd64") with input as on([pool("a100", "amd64")], "registry.example/tf:2.15-arm64")
}

test_fail_names if {
	every image in ["registry.example/tf-x86_64:2.15_amd64", "amd64/python:3.12", "docker.io/amd64/python:3.12", "registry.example/tf:1.x86-64@sha256:abc"] {
		count(architecture.report) == 1 with input as on([pool("gh200", "arm64")], image)
	}
}

both := [pool("a100", "amd64"), pool("gh200", "arm64")]

test_fail_both if {
	architecture.report == found(["nodeSelector"], "the pods of node may land on pools of several architectures (a100: amd64, gh200: arm64): every image must be built for all of them") with input as on(both, "registry.example/tf:2.15")
}

test_success_selected if {
	architecture.report == set() with input as json.patch(on(both, "registry.example/tf:2.15-arm64"), [runs.set(sprintf("%s/nodeSelector", [runs.pod]), {"kubernetes.io/arch": "arm64"})])
}

test_success_right if {
	architecture.report == set() with input as on([pool("a100", "amd64")], "registry.example/tf:2.15-amd64")
	architecture.report == set() with input as on([pool("a100", "amd64")], "registry.example/arm64/tf:2.15")
}

test_success_no_place if {
	architecture.report == set() with input as on([both[0], object.union(both[1], {"allocatable": {"nvidia.com/gpu": "0"}})], "registry.example/tf:2.15")
}

test_success_not_told if architecture.report == set() with input as on([{"pool": "a100", "count": 4, "allocatable": {"nvidia.com/gpu": "8"}}], "registry.example/tf:2.15-arm64")
