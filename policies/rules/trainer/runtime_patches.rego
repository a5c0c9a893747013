# METADATA
# title: Runtime patches reach what the runtime has
# description: |
#   A runtimePatch (2.1: podTemplateOverride) changes Jobs and containers that the runtime has. One that it names anew is added
#   without an image, which a patch cannot give: the API server refuses the Job (with 2.1 Trainer's webhook the TrainJob).
#   Trainer's webhook also refuses env of the containers that have an API of their own, and
#   a manager that is no domain-prefixed path: the TrainJob is not created. Nor is it where Kueue finds the entry that it adds
#   to every TrainJob, as a manifest has that was read from a cluster.
# related_resources:
# - ref: https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/runtime/framework/plugins/jobset/jobset.go
#   description: what the webhook refuses
# - ref: https://github.com/kubernetes-sigs/kueue/blob/v0.17.0/pkg/controller/jobs/trainjob/trainjob_webhook.go
#   description: the entry that Kueue adds
# custom:
#   symptoms:
#   - "spec.runtimePatches[1]: Duplicate value: kueue.x-k8s.io/manager"
#   severity: error
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_what_is_refused_later_makes_no_job"
#   - "lab: tests/lab/test_gate_and_cluster.py::test_a_job_that_a_patch_adds_is_never_made"
#   - "lab: tests/lab/test_gate_and_cluster.py::test_a_patch_of_nodes_env_is_refused"
#   - "lab: tests/lab/test_roles.py::test_kueues_own_patch_is_refused"
#   - "source: trainer pkg/runtime/core/trainingruntime.go"
#   - "source: trainer pkg/runtime/framework/plugins/jobset/jobset.go"
#   - "source: kueue pkg/controller/jobs/trainjob/trainjob_webhook.go"
#   fix: "Patch only replicatedJobs and containers of the runtime, by the names that they have there."
#   example: |
#     runtimePatches:
#     - manager: example.com/team
#       trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {
#         containers: [{name: node, env: [{name: EPOCHS, value: "3"}]}]}}}}}]}}}
package rules.trainer.runtime_patches

import data.lib

# A domain-prefixed path, as Kubernetes has it: example.com/name.
domain_prefixed := `^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$`

report contains object.union(lib.at(i, ["spec", "runtimePatches", n, "manager"], message), {"fix": fix}) if {
	some i, trainjob in lib.objects("trainer.kubeflow.org", "TrainJob")
	some n, patch in trainjob.spec.runtimePatches
	not regex.match(domain_prefixed, patch.manager)
	message := sprintf("manager %s is no domain-prefixed path: Trainer refuses the TrainJob", [patch.manager])
	fix := "Write a domain and a path, such as `manager: example.com/team`."
}

report contains object.union(lib.at(i, ["spec", "runtimePatches", n, "manager"], message), {"fix": fix}) if {
	some i, trainjob in lib.objects("trainer.kubeflow.org", "TrainJob")
	some n, patch in trainjob.spec.runtimePatches
	patch.manager == "kueue.x-k8s.io/manager"
	kueue_adds(trainjob)
	message := "Kueue adds the entry of manager kueue.x-k8s.io/manager to every TrainJob: the API server refuses the second"
	fix := "Leave the entry out: it is Kueue's."
}

report contains lib.at(p.object, p.path, message) if {
	some p in patches
	not p.job in object.keys(has(p.runtime))
	message := sprintf("the runtime has no replicatedJob %s (it has: %s), and a patch can give one no image", [
		p.job,
		lib.joined(object.keys(has(p.runtime))),
	])
}

report contains lib.at(p.object, array.concat(p.pod, [list, c, "name"]), message) if {
	some p in patches
	names := has(p.runtime)[p.job]
	some list in ["containers", "initContainers"]
	some c, container in p.spec[list]
	not container.name in names
	message := sprintf("the runtime's replicatedJob %s has no container %s (it has: %s), and a patch can give one no image", [
		p.job,
		container.name,
		lib.joined(names),
	])
}

report contains object.union(lib.at(p.object, array.concat(p.pod, ["containers", c, "env"]), message), {"fix": fix}) if {
	some p in patches
	some c, container in p.spec.containers
	count(object.get(container, "env", [])) > 0
	field := own_env[container.name]
	message := sprintf("a patch gives env to the container %s: Trainer refuses the TrainJob", [container.name])
	fix := sprintf("Write these variables in %s of the TrainJob.", [field])
}

kueue_adds(_) if semver.compare(input.cluster.versions.kueue, "0.17.0") >= 0

kueue_adds(trainjob) if {
	input.cluster == null
	trainjob.metadata.labels["kueue.x-k8s.io/queue-name"]
}

own_env := {
	"node": "spec.trainer.env",
	"dataset-initializer": "spec.initializer.dataset.env",
	"model-initializer": "spec.initializer.model.env",
}

# The replicatedJobs that are patched: where, in which runtime, and the pod spec that is given.
patches contains {"object": i, "runtime": w.runtime, "job": job.name, "path": path, "pod": pod, "spec": spec} if {
	some w in patched
	i := w.object
	some n, patch in input.objects[i].spec.runtimePatches
	some j, job in patch.trainingRuntimeSpec.template.spec.replicatedJobs
	base := ["spec", "runtimePatches", n, "trainingRuntimeSpec", "template", "spec", "replicatedJobs", j]
	path := array.concat(base, ["name"])
	pod := array.concat(base, ["template", "spec", "template", "spec"])
	spec := object.get(job, ["template", "spec", "template", "spec"], {})
}

# Trainer 2.1.
patches contains {"object": i, "runtime": w.runtime, "job": job.name, "path": path, "pod": pod, "spec": spec} if {
	some w in patched
	i := w.object
	some n, override in input.objects[i].spec.podTemplateOverrides
	some j, job in override.targetJobs
	path := ["spec", "podTemplateOverrides", n, "targetJobs", j, "name"]
	pod := ["spec", "podTemplateOverrides", n, "spec"]
	spec := object.get(override, "spec", {})
}

patched contains w if {
	some w in input.workloads
	w.kind == "TrainJob"
	w.runtime != null
}

# The replicatedJobs of a runtime with the names of their containers.
has(runtime) := {job.name: names |
	some job in input.objects[runtime].spec.template.spec.replicatedJobs
	pod := object.get(job, ["template", "spec", "template", "spec"], {})
	names := {c.name | some list in ["containers", "initContainers"]; some c in pod[list]}
}
