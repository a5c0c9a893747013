# METADATA
# title: JobSet accepts the JobSet that is made
# description: |
#   Some of what JobSet demands stands in no schema: its webhook looks at it when the JobSet is made. Of a JobSet in Git that
#   is at the sync. Of a runtime it is after the TrainJob was accepted: there is no JobSet, and only an event of the
#   TrainJob says why (TrainJobResourcesCreationFailed). A Job that waits for itself is accepted and never made.
# related_resources:
# - ref: https://github.com/kubernetes-sigs/jobset/blob/v0.12.0/pkg/webhooks/jobset_webhook.go
#   description: what JobSet refuses
# custom:
#   symptoms:
#   - "TrainJobResourcesCreationFailed: admission webhook vjobset.kb.io denied the request"
#   severity: error
#   seen:
#   - "lab: tests/lab/test_roles.py::test_what_jobset_refuses"
#   - "lab: tests/lab/test_roles.py::test_a_job_that_waits_for_itself_is_never_made"
#   - "source: jobset pkg/webhooks/jobset_webhook.go"
#   - "source: jobset pkg/controllers/depends_on.go"
#   fix: "Name replicatedJobs that the JobSet has; a Job waits (dependsOn) only for Jobs above it in the list."
#   example: |
#     replicatedJobs:
#     - name: node
#       dependsOn: [{name: dataset-initializer, status: Complete}]
#     - name: dataset-initializer   # must stand above
package rules.jobset.accepted

import data.lib
import data.lib.roles

report contains lib.in_workload(w, ["spec", "replicatedJobs", i, "dependsOn", n, "name"], message) if {
	some w in lib.workloads
	some i, job in roles.jobs(w)
	some n, before in job.dependsOn
	not before.name in above(w, i)
	message := sprintf("the Job %s waits for %s, %s", [job.name, before.name, unreachable(w, job.name, before.name)])
}

report contains lib.in_workload(w, ["spec", "successPolicy", "targetReplicatedJobs", n], message) if {
	some w in lib.workloads
	some n, name in w.jobset.spec.successPolicy.targetReplicatedJobs
	not name in roles.names(w)
	message := unknown("successPolicy", w, name)
}

report contains lib.in_workload(w, ["spec", "failurePolicy", "rules", r, "targetReplicatedJobs", n], message) if {
	some w in lib.workloads
	some r, rule in w.jobset.spec.failurePolicy.rules
	some n, name in rule.targetReplicatedJobs
	not name in roles.names(w)
	message := unknown("a rule of failurePolicy", w, name)
}

report contains object.union(lib.in_workload(w, ["spec", "failurePolicy", "rules", r, "onJobFailureReasons", n], message), {"fix": fix}) if {
	some w in lib.workloads
	some r, rule in w.jobset.spec.failurePolicy.rules
	some n, reason in rule.onJobFailureReasons
	not reason in reasons
	message := sprintf("%s is no reason of a failed Job: JobSet refuses the JobSet", [reason])
	fix := sprintf("Write one of %s.", [lib.joined(reasons)])
}

report contains object.union(lib.in_workload(w, ["spec", "failurePolicy", "rules", r, "name"], message), {"fix": rule_name}) if {
	some w in lib.workloads
	some r, rule in w.jobset.spec.failurePolicy.rules
	not regex.match(`^[A-Za-z]([A-Za-z0-9_,:]{0,126}[A-Za-z0-9_])?$`, object.get(rule, "name", "default"))
	message := sprintf("`%s` cannot be the name of a rule of failurePolicy: JobSet refuses the JobSet", [rule.name])
}

report contains object.union(lib.in_workload(w, ["spec", "failurePolicy", "rules", r, "name"], message), {"fix": rule_name}) if {
	some w in lib.workloads
	some r, rule in w.jobset.spec.failurePolicy.rules
	some other in array.slice(w.jobset.spec.failurePolicy.rules, 0, r)
	other.name == rule.name
	message := sprintf("two rules of failurePolicy are called %s: JobSet refuses the JobSet", [rule.name])
}

report contains object.union(lib.in_workload(w, ["spec", "coordinator", field], message), {"fix": coordinator_fix}) if {
	some w in lib.workloads
	some field, reason in coordinator(w)
	message := sprintf("the coordinator is not there (%s): JobSet refuses the JobSet", [reason])
}

report contains object.union(lib.in_workload(w, array.concat(claim.path, ["metadata", "name"]), message), {"fix": fix}) if {
	some w in lib.workloads
	some claim in claims(w)
	every job in roles.jobs(w) { not mounts(job, claim.name) }
	message := sprintf("no container mounts the claim %s of volumeClaimPolicies: JobSet refuses the JobSet", [claim.name])
	fix := sprintf("Mount it where it is needed: `volumeMounts: [{name: %s, mountPath: /…}]`.", [claim.name])
}

report contains object.union(lib.in_workload(w, array.concat(claim.path, ["metadata", "name"]), message), {"fix": fix}) if {
	some w in lib.workloads
	some claim in claims(w)
	some job in roles.jobs(w)
	some volume in job.template.spec.template.spec.volumes
	volume.name == claim.name
	message := sprintf("the Job %s has a volume %s of its own beside the claim of that name in volumeClaimPolicies: JobSet refuses the JobSet", [
		job.name,
		claim.name,
	])
	fix := "Leave the volume out: JobSet adds it."
}

report contains object.union(lib.in_workload(w, ["spec", "replicatedJobs", i, "groupName"], message), {"fix": fix}) if {
	some w in lib.workloads
	some i, job in roles.jobs(w)
	not regex.match(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`, object.get(job, "groupName", "default"))
	message := sprintf("groupName `%s` is no RFC 1035 label of at most 63 characters: JobSet refuses the JobSet", [job.groupName])
	fix := "Write lower-case letters, digits and `-`, a letter first."
}

# The claims that JobSet makes: where each stands, and the volume that its pods get.
claims(w) := [{"path": ["spec", "volumeClaimPolicies", p, "templates", t], "name": claim.metadata.name} |
	some p, policy in w.jobset.spec.volumeClaimPolicies
	some t, claim in policy.templates
]

mounts(job, name) if {
	some list in ["containers", "initContainers"]
	some container in job.template.spec.template.spec[list]
	some mount in container.volumeMounts
	mount.name == name
}

above(w, i) := {job.name | some job in array.slice(roles.jobs(w), 0, i)}

unreachable(w, job, before) := sprintf("which the JobSet does not have (it has: %s): JobSet refuses the JobSet", [lib.joined(roles.names(w) - {job})]) if {
	not before in roles.names(w)
}

unreachable(w, job, before) := "which does not stand above it: JobSet refuses the JobSet" if {
	before in roles.names(w)
	before != job
}

unreachable(w, job, job) := "which is itself: JobSet never makes it" if roles.jobs(w)[0].name != job

unreachable(w, job, job) := "which is itself: JobSet refuses the JobSet" if roles.jobs(w)[0].name == job

unknown(what, w, name) := sprintf("%s names the Job %s, which the JobSet does not have (it has: %s): JobSet refuses the JobSet", [
	what,
	name,
	lib.joined(roles.names(w)),
])

reasons := {"BackoffLimitExceeded", "DeadlineExceeded", "FailedIndexes", "MaxFailedIndexesExceeded", "PodFailurePolicy"}

rule_name := "Give each rule a name of its own (a letter, then letters, digits and `_,:`), or none."

coordinator_fix := "Name a replicatedJob, a jobIndex below its replicas and a podIndex below its completions."

# What is wrong with the coordinator, by field. Trainer sets completions in all Jobs.
coordinator(w) := {"replicatedJob": sprintf("there is no Job %s, but %s", [name, lib.joined(roles.names(w))])} if {
	name := w.jobset.spec.coordinator.replicatedJob
	not name in roles.names(w)
}

coordinator(w) := {field: sprintf("%s is %d, of %d", [field, index, size]) |
	some field, size in {"jobIndex": object.get(job, "replicas", 1), "podIndex": completions(w, job)}
	index := object.get(w.jobset.spec.coordinator, field, 0)
	outside(index, size)
} if {
	some job in roles.jobs(w)
	job.name == w.jobset.spec.coordinator.replicatedJob
}

outside(index, _) if index < 0

outside(index, size) if index >= size

completions(w, job) := object.get(job, ["template", "spec", "completions"], 0) if w.kind == "JobSet"

completions(w, job) := object.get(job, ["template", "spec", "completions"], 1) if w.kind != "JobSet"
