# METADATA
# title: The name of an image can be read
# description: |
#   The API server takes nearly anything as an image. The kubelet does not: with a capital, a space, https:// before the
#   registry or half a digest the container waits for ever (InvalidImageName), on a node and with GPUs that the run holds.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/containers/images/#image-names
# - ref: https://github.com/distribution/reference/blob/v0.6.0/regexp.go
#   description: the grammar
# custom:
#   symptoms:
#   - "InvalidImageName"
#   severity: error
#   seen:
#   - "lab: tests/lab/test_images.py::test_what_the_kubelet_cannot_read_waits_for_ever"
#   - "source: kubernetes pkg/util/parsers/parsers.go"
#   - "source: kubernetes pkg/kubelet/images/image_manager.go"
#   fix: "Write registry[:port]/name[:tag][@sha256:…], the name in lower case: registry.example:5000/team/tf:2.15-r8."
#   example: |
#     containers:
#     - name: node
#       image: registry.example/team/TensorFlow:2.15
package rules.images.readable

import data.lib
import data.lib.images

report contains lib.in_workload(g.workload, array.concat(c.path, ["image"]), message) if {
	some g in lib.all_pods
	some c in lib.pod_containers(g)
	not images.provided_later(g, c.container)
	message := unreadable(c.container.image)
}

# A TrainJob whose runtime is not known has no pods to look at.
report contains lib.at(w.object, ["spec", "trainer", "image"], message) if {
	some w in input.workloads
	w.kind == "TrainJob"
	w.jobset == null
	message := unreadable(input.objects[w.object].spec.trainer.image)
}

unreadable(image) := sprintf("image %s cannot be read: %s; its container never starts", [image, fault(trim_space(image))]) if {
	image != ""
	not images.is_placeholder(image) # see images/pinned
}

# What is wrong of a name without spaces around it, which the API server refuses; undefined where nothing is.
fault(image) := "there is a space in it" if {
	regex.match(`\s`, image)
} else := "it begins with a scheme, not with the registry" if {
	contains(image, "://")
} else := "it is the number of an image and not its name" if {
	regex.match(`^[a-f0-9]{64}$`, image)
} else := "its digest must be sha256: and 64 hexadecimal digits in lower case" if {
	contains(image, "@")
	not regex.match(`^[^@]*@(sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128})$`, image)
} else := "its tag must be of letters, digits, _ . and -, and of 128 at most" if {
	regex.match(`:[^:/]*$`, images.without_digest(image))
	not regex.match(`:\w[\w.-]{0,127}$`, images.without_digest(image))
} else := "its name must be in lower case" if {
	regex.match(`^[^/]*/.*[A-Z]`, images.full(image))
} else := "a name is letters and digits with a . _ or - between them, after a registry as host[:port]/" if {
	not regex.match(sprintf(`^(%s|\[[a-fA-F0-9:]+\])(:[0-9]+)?(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)+$`, [host]), images.full(image))
}

host := sprintf(`%s(\.%s)*`, [label, label])

label := `[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?`
