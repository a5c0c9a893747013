# METADATA
# title: Names of Jobs and pods fit
# description: |
#   A TrainJob's name may have 63 characters, but JobSet makes longer names of it: {name}-{replicatedJob}-{replica} for
#   Jobs and {name}-{replicatedJob}-{replica}-{index}-xxxxx for pods, RFC 1035 labels of at most 63 characters. A name that
#   prefixes and suffixes made too long is accepted; the JobSet is refused, and only an event of the TrainJob says so.
# related_resources:
# - ref: https://github.com/kubernetes-sigs/jobset/blob/v0.12.0/pkg/webhooks/jobset_webhook.go
#   description: what JobSet refuses
# - ref: https://github.com/kubernetes-sigs/jobset/issues/408
#   description: names that are too long
# custom:
#   symptoms:
#   - "TrainJobResourcesCreationFailed"
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_a_name_that_jobset_cannot_lengthen_is_accepted_and_never_made"
#   - "source: jobset pkg/webhooks/jobset_webhook.go"
#   - "source: trainer pkg/apis/trainer/v1alpha1/trainjob_types.go"
#   severity: error
#   fix: "Shorten the name (a kustomization's namePrefix and nameSuffix count), or the replicatedJob's."
#   example: |
#     kind: TrainJob
#     metadata:
#       name: eu-central-1-production-resnet50-imagenet-baseline-2026
package rules.jobset.name_fits

import data.lib

report contains lib.at(w.object, ["metadata", "name"], message) if {
	some w in named
	lengths := [count(generated(w, job)) | some job in w.jobset.spec.replicatedJobs]
	longest := max(lengths)
	longest > 63
	job := w.jobset.spec.replicatedJobs[min([i | some i, length in lengths; length == longest])]
	message := sprintf(
		"the name has %d characters and `%s` would have %d: JobSet refuses more than 63, which leaves %d for the name",
		[count(w.name), generated(object.union(w, {"name": "…"}), job), longest, 63 - (longest - count(w.name))],
	)
}

# Where the runtime is not known: whatever its Jobs are called, the names have 12 characters more.
report contains lib.at(w.object, ["metadata", "name"], message) if {
	some w in input.workloads
	w.kind == "TrainJob"
	w.jobset == null
	count(w.name) + 12 > 63
	message := sprintf("the name has %d characters, and JobSet makes names of it that are at least 12 longer: it refuses more than 63", [count(w.name)])
}

report contains object.union(lib.at(w.object, ["metadata", "name"], message), {"fix": "Write a name that begins with a lower-case letter and holds nothing but such letters, digits and `-`."}) if {
	some w in named
	not is_label(w.name)
	message := "the name is no RFC 1035 label (a lower-case letter, then letters, digits and `-`): Trainer and JobSet refuse it"
}

report contains lib.in_workload(w, ["spec", "replicatedJobs", i, "name"], message) if {
	some w in lib.workloads
	some i, job in w.jobset.spec.replicatedJobs
	not is_label(concat("", ["a", job.name]))
	message := sprintf("`%s` cannot be part of a Job's name (lower-case letters, digits and `-`): JobSet refuses it", [job.name])
}

report contains lib.in_workload(w, ["spec", "network", "subdomain"], message) if {
	some w in lib.workloads
	subdomain := w.jobset.spec.network.subdomain
	subdomain != ""
	not is_subdomain(subdomain)
	message := sprintf("subdomain `%s` is no RFC 1035 label of at most 63 characters: JobSet refuses it", [subdomain])
}

report contains lib.in_workload(w, ["spec", "coordinator"], message) if {
	some w in named
	c := w.jobset.spec.coordinator
	subdomain := object.get(w.jobset.spec, ["network", "subdomain"], w.name)
	indices := [object.get(c, "jobIndex", 0), object.get(c, "podIndex", 0)]
	label := sprintf("%s-%s-%d-%d.%s", array.concat([w.name, c.replicatedJob], array.concat(indices, [subdomain])))
	count(label) > 63
	message := sprintf("the coordinator's address would have %d characters, and as a label it may have 63: JobSet refuses it", [count(label)])
}

named contains w if {
	some w in lib.workloads
	w.kind in {"TrainJob", "JobSet"}
	w.name != ""
}

# The longest name that JobSet makes of a replicatedJob. Trainer sets completions in all of them.
generated(w, job) := sprintf("%s-%s-%d-%d-xxxxx", [w.name, job.name, last_replica(job), pods - 1]) if {
	object.get(job.template.spec, "completionMode", "Indexed") == "Indexed"
	pods := object.get(job.template.spec, "completions", default_completions[w.kind])
	pods > 0
} else := sprintf("%s-%s-%d", [w.name, job.name, last_replica(job)])

default_completions := {"TrainJob": 1, "JobSet": 0}

last_replica(job) := object.get(job, "replicas", 1) - 1

is_label(name) if regex.match(`^[a-z]([-a-z0-9]*[a-z0-9])?$`, name)

is_subdomain(name) if {
	is_label(name)
	count(name) <= 63
}
