# METADATA
# title: Images are pinned
# description: |
#   An image without a tag, or with `latest`, is another one tomorrow. Workers of one gang that start on different nodes or
#   after a restart may then run different code. A placeholder that a kustomization's `images:` should have
#   replaced is no image at all: kustomize knows containers, and spec.trainer.image of a TrainJob only when told.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/configuration/overview/#container-images
#   description: image tags
# - ref: https://github.com/kubernetes-sigs/kustomize/issues/3130
#   description: images in custom resources
# custom:
#   symptoms:
#   - "workers of one run behave differently"
#   seen:
#   - "lab: tests/lab/test_images.py::test_after_its_tag_has_moved_a_gang_restarts_as_another_program"
#   - "lab: tests/lab/test_gate_and_cluster.py::test_of_a_placeholder_no_image_is_pulled"
#   - "lab: tests/lab/test_gate_and_cluster.py::test_what_is_refused_later_makes_no_job"
#   - "source: kubernetes pkg/apis/core/v1/defaults.go"
#   - "source: kustomize internal/konfig/builtinpluginconsts/images.go"
#   severity: warning
#   fix: "Write a tag that stays what it is, or a digest: registry.example/tf:2.15-r8."
#   example: |
#     containers:
#     - name: node
#       image: registry.example/tf:latest
package rules.images.pinned

import data.lib
import data.lib.images

placeholder_fix := "Write the tag, or let a kustomize `configurations:` file reach the field: images: [{path: spec/trainer/image, kind: TrainJob}]."

report contains object.union(lib.in_workload(g.workload, path, message), severity(g)) if {
	some g in lib.all_pods
	some c in lib.pod_containers(g)
	path := array.concat(c.path, ["image"])
	message := unpinned(c.container.image)
}

report contains object.union(lib.in_workload(g.workload, path, message), {"severity": "error", "fix": placeholder_fix}) if {
	some g in lib.all_pods
	some c in lib.pod_containers(g)
	not images.provided_later(g, c.container)
	path := array.concat(c.path, ["image"])
	message := placeholder(c.container.image)
}

report contains object.union(lib.in_workload(g.workload, array.concat(c.path, ["image"]), message), {"severity": "error"}) if {
	some g in lib.all_pods
	some c in lib.pod_containers(g)
	not images.provided_later(g, c.container)
	not only_patched(g, c.container)
	object.get(c.container, "image", "") == ""
	message := sprintf("the container %s has no image: no pod can be made of it", [c.container.name])
}

# A TrainJob whose runtime is not known has no pods to look at.
report contains object.union(lib.at(w.object, ["spec", "trainer", "image"], message), {"severity": "error", "fix": placeholder_fix}) if {
	some w in input.workloads
	w.kind == "TrainJob"
	w.jobset == null
	message := placeholder(input.objects[w.object].spec.trainer.image)
}

severity(g) := {"severity": "error"} if {
	g.pod.tensorflow
	lib.gang_size(g.workload) > 1
} else := {}

# A container that a TrainJob's patch names and its runtime does not have: the patch is at fault.
only_patched(g, container) if {
	g.workload.kind == "TrainJob"
	every job in input.objects[g.workload.runtime].spec.template.spec.replicatedJobs {
		pod := object.get(job, ["template", "spec", "template", "spec"], {})
		names := {c.name | some list in ["containers", "initContainers"]; some c in pod[list]}
		not container.name in names
	}
}

unpinned(image) := sprintf("image %s has no tag, which means latest: %s", [image, consequence]) if {
	image != ""
	not images.is_placeholder(image)
	not contains(image, "@")
	images.tag(image) == ""
}

unpinned(image) := sprintf("image %s has the tag latest: %s", [image, consequence]) if {
	not contains(image, "@")
	images.tag(image) == "latest"
}

consequence := "pods that start at different times may run different code"

placeholder(image) := sprintf("image %s is a placeholder that nothing has replaced: no pod can pull it", [image]) if {
	images.is_placeholder(image)
}
