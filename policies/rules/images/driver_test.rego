package rules_test.images.driver

import data.lib
import data.rules.images.driver
import data.rules_test.runs

pool(version) := {"pool": "a100", "count": 4, "driver": version, "allocatable": {"nvidia.com/gpu": "8"}}

on(pool, image) := json.patch(runs.kueue, [runs.put("/cluster/nodes", [pool]), runs.put(sprintf("%s/image", [runs.node]), image)])

found(image, cuda, oldest, version) := {lib.in_workload(
	{"index": 0},
	array.concat(runs.pod_path, ["containers", 0, "image"]),
	sprintf("image %s has CUDA %d, which needs driver %d or newer, and pool a100 has %s", [image, cuda, oldest, version]),
)}

test_fail_names if {
	every image in ["registry.example/tf:2.15-cuda12.2", "registry.example/tf-cuda12:r8", "nvidia/cuda:12.4.1-runtime-ubuntu22.04", "registry.example/tf:2.15-cu121", "tensorflow/tensorflow:2.15.0-gpu", "docker.io/tensorflow/tensorflow:2.21.0-gpu"] {
		driver.report == found(image, 12, 525, "470.57.02") with input as on(pool("470.57.02"), image)
	}
}

test_fail_eleven if driver.report == found("tensorflow/tensorflow:2.14.0-gpu", 11, 450, "418.87") with input as on(pool("418.87"), "tensorflow/tensorflow:2.14.0-gpu")

test_fail_thirteen if driver.report == found("registry.example/tf:cuda13.0", 13, 580, "550") with input as on(pool("550"), "registry.example/tf:cuda13.0")

test_success_new_enough if {
	every version in ["525.60.13", "535.104", "580"] {
		driver.report == set() with input as on(pool(version), "tensorflow/tensorflow:2.15.0-gpu")
	}
}

test_success_not_told if {
	every image in ["nvcr.io/nvidia/tensorflow:24.03-tf2-py3", "registry.example/tf:2.15", "tensorflow/tensorflow:2.15.0", "tensorflow/tensorflow:latest-gpu", "registry.example/barracuda:12", "registry.example/tf:cuda120", "tensorflow/tensorflow:2.3.0-gpu"] {
		driver.report == set() with input as on(pool("418.87"), image)
	}
}

test_success_no_driver_given if driver.report == set() with input as on({"pool": "a100", "count": 4, "allocatable": {"nvidia.com/gpu": "8"}}, "tensorflow/tensorflow:2.15.0-gpu")

test_success_no_gpu if driver.report == set() with input as json.patch(
	on(object.union(pool("470"), {"allocatable": {"cpu": "64"}}), "tensorflow/tensorflow:2.15.0-gpu"),
	[runs.set(sprintf("%s/resources", [runs.node]), {})],
)
