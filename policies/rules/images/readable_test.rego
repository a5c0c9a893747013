package rules_test.images.readable

import data.rules.images.readable.report
import data.rules_test.fixture

with_image(document, image) := fixture.with_container(document, "image", image)

message(image, fault) := sprintf("image %s cannot be read: %s; its container never starts", [image, fault])

digits := "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

faults := {
	"registry.example/team/TensorFlow:2.15": "its name must be in lower case",
	"TF:2.15": "its name must be in lower case",
	"registry.example/tf:2.15 r8": "there is a space in it",
	"https://registry.example/tf:2.15": "it begins with a scheme, not with the registry",
	digits: "it is the number of an image and not its name",
	"tf@sha256:0a1b": "its digest must be sha256: and 64 hexadecimal digits in lower case",
	sprintf("tf@sha256:%s", [upper(digits)]): "its digest must be sha256: and 64 hexadecimal digits in lower case",
	sprintf("tf@md5:%s", [digits]): "its digest must be sha256: and 64 hexadecimal digits in lower case",
	"registry.example/tf:": "its tag must be of letters, digits, _ . and -, and of 128 at most",
	"registry.example/tf:-r8": "its tag must be of letters, digits, _ . and -, and of 128 at most",
	"registry.example/tf:2.15+r8": "its tag must be of letters, digits, _ . and -, and of 128 at most",
	sprintf("tf:%s%s0", [digits, digits]): "its tag must be of letters, digits, _ . and -, and of 128 at most",
	"registry.example//tf:2.15": "a name is letters and digits with a . _ or - between them, after a registry as host[:port]/",
	"registry.example:port/tf:2.15": "a name is letters and digits with a . _ or - between them, after a registry as host[:port]/",
	"registry_1.example/tf:2.15": "a name is letters and digits with a . _ or - between them, after a registry as host[:port]/",
	"/tf:2.15": "a name is letters and digits with a . _ or - between them, after a registry as host[:port]/",
	"tf_:2.15": "a name is letters and digits with a . _ or - between them, after a registry as host[:port]/",
	"tf:2:15": "a name is letters and digits with a . _ or - between them, after a registry as host[:port]/",
}

test_fail_each if {
	every image, fault in faults {
		report == {fixture.in_workload(fixture.container_path(["image"]), message(image, fault))} with input as with_image(fixture.trainjob, image)
	}
}

test_fail_init_container if {
	copy := [{"name": "copy", "image": "registry.example/Copy:1"}]
	report == {fixture.in_workload(
		fixture.pod_path(["initContainers", 0, "image"]),
		message("registry.example/Copy:1", "its name must be in lower case"),
	)} with input as fixture.with_pod(fixture.torch, "initContainers", copy)
}

# Whose runtime is not known has no effective pods.
test_fail_trainer_image_without_runtime if {
	document := json.patch(fixture.with_trainjob(fixture.trainjob, "spec/trainer/image", "TF:2.15"), [
		{"op": "replace", "path": "/workloads/0/jobset", "value": null},
		{"op": "replace", "path": "/workloads/0/pods", "value": []},
	])
	report == {fixture.at(0, ["spec", "trainer", "image"], message("TF:2.15", "its name must be in lower case"))} with input as document
}

test_success_each if {
	every image in [
		"tf",
		"tf:2.15",
		"tf:2.15_R8.-x",
		"team/tf__gpu:2.15",
		"a-registry.example:5000/team/tf--gpu.x_y:LATEST",
		"localhost/tf:1",
		"localhost:5000/tf",
		"Registry/tf:1",
		"[::1]:5000/tf:1",
		"10.0.0.1/tf:1",
		sprintf("registry.example/tf@sha256:%s", [digits]),
		sprintf("registry.example/tf:2.15@sha256:%s", [digits]),
		sprintf("tf@sha512:%s%s", [digits, digits]),
		sprintf("tf:%s%s", [digits, digits]),
	] {
		report == set() with input as with_image(fixture.trainjob, image)
	}
}

# images/pinned speaks of these.
test_success_placeholders if {
	every image in ["registry.example/tf:CHANGEME", "registry.example/tf:${TAG}", "<image>", null] {
		report == set() with input as with_image(fixture.trainjob, image)
	}
}

# A TrainJob gives the image.
test_success_runtime_leaves_it_open if report == set() with input as with_image(fixture.runtime, "TF:2.15")
