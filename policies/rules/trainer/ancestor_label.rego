# METADATA
# title: Trainer finds the trainer's Job of a runtime
# description: |
#   Trainer looks for the Job to fill in by a label on the Job template (replicatedJobs[].template.metadata.labels). Where
#   no Job has it, nothing complains: numNodes, image, command, env and resources of every TrainJob are ignored, and one
#   pod runs what the runtime or the image has as its command. It waits for its peers, or ends at once and the TrainJob is
#   Complete with nothing trained. With it on two Jobs, a TrainJob's number of nodes reaches the first only.
# related_resources:
# - ref: https://github.com/kubeflow/trainer/issues/2548
#   description: the label is easily put on the wrong level
# - ref: https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/runtime/framework/plugins/jobset/builder.go
#   description: where Trainer reads it
# custom:
#   symptoms:
#   - "only one worker starts"
#   - "a TrainJob is Complete after seconds and nothing was trained"
#   - "image, command or env of the TrainJob are ignored"
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_without_the_ancestor_label_nothing_of_the_trainjob_arrives"
#   - "lab: tests/lab/test_gate_and_cluster.py::test_two_replicas_of_the_trainers_job_are_refused"
#   - "lab: tests/oracle/test_resolve.py::test_case"
#   - "source: trainer pkg/runtime/framework/plugins/jobset/builder.go"
#   - "source: trainer pkg/runtime/framework/plugins/plainml/plainml.go"
#   severity: error
#   fix: |
#     Write `metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}` in the Job template
#     (replicatedJobs[].template) of the one replicatedJob that trains.
#   example: |
#     replicatedJobs:
#     - name: node
#       template:
#         spec:
#           template:
#             metadata:
#               labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}
package rules.trainer.ancestor_label

import data.lib

report contains lib.at(i, path, sprintf("no Job template has the label %s: trainer%s: %s", [lib.ancestor_label, hint, ignored])) if {
	some i, runtime in lib.runtimes
	count(trainers(runtime)) == 0
	not misplaced(runtime)
	n := candidate(runtime)
	path := label_path(n, [])
	hint := instead(replicated_jobs(runtime)[n])
}

report contains lib.at(i, ["spec", "template", "spec", "replicatedJobs"], message) if {
	some i, runtime in lib.runtimes
	count(replicated_jobs(runtime)) == 0
	message := sprintf("there is no replicatedJob, so none with the label %s: trainer: %s", [lib.ancestor_label, ignored])
}

report contains lib.at(i, label_path(n, ["spec", "template"]), message) if {
	some i, runtime in lib.runtimes
	count(trainers(runtime)) == 0
	n := misplaced(runtime)
	message := sprintf("the label %s is on the pod template, Trainer looks for it on the Job template: %s", [lib.ancestor_label, ignored])
}

report contains lib.at(i, label_path(n, []), message) if {
	some i, runtime in lib.runtimes
	some n in array.slice(trainers(runtime), 1, count(trainers(runtime)))
	message := sprintf("%d Jobs have the label %s: trainer: only the first gets numNodes", [count(trainers(runtime)), lib.ancestor_label])
}

report contains object.union(lib.at(i, path, message), {"fix": "Write replicas: 1, or leave it out: numNodes counts the workers."}) if {
	some i, runtime in lib.runtimes
	some n, job in replicated_jobs(runtime)
	lib.ancestor_containers[lib.ancestor(job)]
	job.replicas != 1
	path := ["spec", "template", "spec", "replicatedJobs", n, "replicas"]
	message := sprintf("replicas is %d: Trainer refuses anything but 1 in a Job that it fills in", [job.replicas])
}

ignored := "numNodes, image, command and env of TrainJobs are ignored"

replicated_jobs(runtime) := object.get(runtime.spec, ["template", "spec", "replicatedJobs"], [])

trainers(runtime) := [n | some n, job in replicated_jobs(runtime); lib.ancestor(job) == "trainer"]

# The replicatedJob that has the label one level too deep.
misplaced(runtime) := [n |
	some n, job in replicated_jobs(runtime)
	job.template.spec.template.metadata.labels[lib.ancestor_label] == "trainer"
][0]

# The replicatedJob that is meant: the one with a container `node`, else the last.
candidate(runtime) := [n |
	some n, job in replicated_jobs(runtime)
	some c in job.template.spec.template.spec.containers
	c.name == "node"
][0]

candidate(runtime) := count(replicated_jobs(runtime)) - 1 if {
	count(replicated_jobs(runtime)) > 0
	every job in replicated_jobs(runtime) {
		every c in object.get(job.template, ["spec", "template", "spec", "containers"], []) { c.name != "node" }
	}
}

instead(job) := "" if lib.ancestor(job) == ""

instead(job) := sprintf(" (here it is %s)", [lib.ancestor(job)]) if lib.ancestor(job) != ""

label_path(n, level) := array.concat(
	["spec", "template", "spec", "replicatedJobs", n, "template"],
	array.concat(level, ["metadata", "labels", lib.ancestor_label]),
)
