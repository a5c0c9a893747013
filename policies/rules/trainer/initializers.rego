# METADATA
# title: What initializers fetch is there when the training begins
# description: |
#   Trainer's webhook demands of a run with spec.initializer that the runtime has a Job and a container of the initializer's
#   name, and in that a mount called `initializer`. The address, the variables and the Secret go to the Job with the
#   label, whatever its name: without it they are ignored. And nothing but dependsOn makes the workers wait for it, nothing but
#   a volume that outlives a pod brings them what it fetched.
# related_resources:
# - ref: https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/runtime/framework/plugins/jobset/jobset.go
#   description: what the webhook demands
# - ref: https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/runtime/framework/plugins/jobset/builder.go
#   description: which Job is filled in
# custom:
#   symptoms:
#   - "must have dataset-initializer job when trainJob is configured with input datasetConfig"
#   - "the training finds no data although its initializer has fetched them"
#   severity: error
#   seen:
#   - "lab: tests/lab/test_roles.py::test_an_initializer_that_the_runtime_does_not_have_is_refused"
#   - "lab: tests/lab/test_roles.py::test_an_initializer_without_the_label_is_not_told_what_to_fetch"
#   - "source: trainer pkg/runtime/framework/plugins/jobset/jobset.go"
#   - "source: trainer pkg/runtime/framework/plugins/jobset/builder.go"
#   fix: |
#     Give the runtime a replicatedJob dataset-initializer (model-initializer) with that ancestor label and a container of that
#     name that mounts a claim as the volume `initializer`, and the trainer's Job a dependsOn with `status: Complete`.
#   example: |
#     kind: TrainJob
#     spec:
#       runtimeRef: {name: tensorflow-distributed}   # has no Job dataset-initializer
#       initializer: {dataset: {storageUri: "hf://team/songs"}}
package rules.trainer.initializers

import data.lib
import data.lib.roles

kinds := {"dataset": "dataset-initializer", "model": "model-initializer"}

report contains lib.at(w.object, ["spec", "initializer", field], message) if {
	some w in with_runtime
	some field, name in kinds
	input.objects[w.object].spec.initializer[field]
	reason := refused(w, name)
	message := sprintf("the runtime has no %s: Trainer refuses the TrainJob", [reason])
}

report contains lib.at(w.object, ["spec", "initializer", field], message) if {
	some w in with_runtime
	some field, name in kinds
	input.objects[w.object].spec.initializer[field]
	not refused(w, name)
	every job in roles.jobs(w) { lib.ancestor(job) != name }
	message := sprintf("no Job of the runtime has the label %s: %s, so all of it is ignored", [lib.ancestor_label, name])
}

report contains object.union(lib.in_workload(w, ["spec", "replicatedJobs", t, "dependsOn"], message), {"severity": "warning"}) if {
	some w in lib.workloads
	some t, trainer in roles.jobs(w)
	lib.ancestor(trainer) == "trainer"
	not in_order(w)
	some job in roles.jobs(w)
	lib.ancestor(job) in {"dataset-initializer", "model-initializer"}
	not waits(w, trainer, job.name)
	message := sprintf("the Job %s does not wait for %s to be Complete: the training starts beside it", [trainer.name, job.name])
}

report contains lib.in_workload(w, array.concat(path, ["volumes", v, "emptyDir"]), message) if {
	some w in lib.workloads
	some j, job in roles.jobs(w)
	lib.ancestor(job) in {"dataset-initializer", "model-initializer"}
	path := ["spec", "replicatedJobs", j, "template", "spec", "template", "spec"]
	some v, volume in job.template.spec.template.spec.volumes
	volume.name == "initializer"
	volume.emptyDir
	message := sprintf("what %s fetches goes into an emptyDir of its own pod, which ends with it: the workers never see it", [job.name])
}

with_runtime contains w if {
	some w in lib.workloads
	w.kind == "TrainJob"
}

# What the webhook misses in the runtime.
refused(w, name) := sprintf("replicatedJob %s", [name]) if not name in roles.names(w)

refused(w, name) := sprintf("container %s in the replicatedJob %s", [name, name]) if {
	name in roles.names(w)
	not container(w, name)
}

refused(w, name) := sprintf("mount `initializer` in the container %s", [name]) if {
	every mount in object.get(container(w, name), "volumeMounts", []) { mount.name != "initializer" }
}

container(w, name) := [c |
	some job in roles.jobs(w)
	job.name == name
	some c in job.template.spec.template.spec.containers
	c.name == name
][0]

in_order(w) if w.jobset.spec.startupPolicy.startupPolicyOrder == "InOrder"

# Directly, or through a Job that waits in turn.
waits(w, job, name) if name in graph.reachable(dependencies(w), {before.name | some before in job.dependsOn; before.status == "Complete"})

dependencies(w) := {job.name: {before.name | some before in job.dependsOn; before.status == "Complete"} | some job in roles.jobs(w)}
