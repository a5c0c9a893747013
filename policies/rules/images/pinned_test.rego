package rules_test.images.pinned

import data.rules.images.pinned.report
import data.rules_test.fixture

with_image(document, image) := fixture.with_container(document, "image", image)

finding(message, more) := object.union(fixture.in_workload(fixture.container_path(["image"]), message), more)

error := {"severity": "error"}

unreplaced := {
	"severity": "error",
	"fix": "Write the tag, or let a kustomize `configurations:` file reach the field: images: [{path: spec/trainer/image, kind: TrainJob}].",
}

latest(image) := sprintf("image %s has the tag latest: pods that start at different times may run different code", [image])

untagged(image) := sprintf(
	"image %s has no tag, which means latest: pods that start at different times may run different code",
	[image],
)

placeholder(image) := sprintf("image %s is a placeholder that nothing has replaced: no pod can pull it", [image])

test_fail_latest if {
	every document in [fixture.trainjob, fixture.jobset, fixture.runtime] {
		report == {finding(latest("registry.example/tf:latest"), error)} with input as with_image(document, "registry.example/tf:latest")
	}
}

test_fail_untagged if {
	every image in ["tf", "registry.example:5000/team/tf"] {
		report == {finding(untagged(image), error)} with input as with_image(fixture.trainjob, image)
	}
}

test_fail_no_gang_is_a_warning if {
	every document in [fixture.single, fixture.torch] {
		report == {finding(untagged("tf"), {})} with input as with_image(document, "tf")
	}
}

test_fail_placeholder if {
	every image in ["registry.example/tf:unset", "tf:CHANGEME", "placeholder", "registry.example/tf:${TAG}"] {
		report == {finding(placeholder(image), unreplaced)} with input as with_image(fixture.trainjob, image)
	}
}

test_fail_init_container if {
	copy := [{"name": "copy", "image": "registry.example/copy"}]
	report == {fixture.in_workload(
		fixture.pod_path(["initContainers", 0, "image"]),
		untagged("registry.example/copy"),
	)} with input as fixture.with_pod(fixture.torch, "initContainers", copy)
}

test_fail_no_image if {
	report == {finding("the container node has no image: no pod can be made of it", error)} with input as with_image(
		fixture.trainjob,
		null,
	)
}

# Whose runtime is not known has no effective pods.
test_fail_trainer_image_without_runtime if {
	document := json.patch(fixture.with_trainjob(fixture.trainjob, "spec/trainer/image", "tf:unset"), [
		{"op": "replace", "path": "/workloads/0/jobset", "value": null},
		{"op": "replace", "path": "/workloads/0/pods", "value": []},
	])
	report == {object.union(
		fixture.at(0, ["spec", "trainer", "image"], placeholder("tf:unset")),
		unreplaced,
	)} with input as document
}

test_success_pinned if {
	every image in ["tf:2.15", "registry.example:5000/tf:2.15", "tf@sha256:0a1b", "tf:latest@sha256:0a1b", "tf:latest-gpu-2.15"] {
		report == set() with input as with_image(fixture.trainjob, image)
	}
}

# A TrainJob gives the image.
test_success_runtime_leaves_it_open if {
	report == set() with input as with_image(fixture.runtime, "registry.example/tf:unset")
	report == set() with input as with_image(fixture.runtime, null)
}
