# METADATA
# title: Nothing of a run goes on when the training has ended
# description: |
#   A pod is done when all its containers are, a Job when its pods are, a JobSet when its Jobs are. A container that never
#   ends beside the one that trains (TensorBoard, a log shipper) keeps every pod of the run and its GPUs for ever; a
#   Job that never ends keeps the run from being Complete, and one that waits for it to be Complete never starts.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/#jobs-with-sidecar-containers
#   description: a sidecar does not keep a Job
# - ref: https://github.com/kubernetes-sigs/jobset/blob/v0.12.0/pkg/controllers/success_policy.go
#   description: which Jobs have to succeed
# custom:
#   symptoms:
#   - "the training has ended and its pods stay Running"
#   - "a TrainJob never gets Complete"
#   severity: error
#   seen:
#   - "lab: tests/lab/test_roles.py::test_a_container_that_never_ends_keeps_the_pods_of_a_trained_run"
#   - "lab: tests/lab/test_roles.py::test_a_job_that_never_ends_keeps_a_run_from_being_complete"
#   - "lab: tests/lab/test_roles.py::test_a_job_that_waits_for_one_without_an_end_is_never_made"
#   - "source: jobset pkg/controllers/success_policy.go"
#   fix: "Make it an initContainer with `restartPolicy: Always`: such a sidecar is stopped with the training."
#   example: |
#     containers:
#     - {name: node, command: [python3, train.py]}
#     - {name: board, command: [tensorboard, --logdir, /logs]}
package rules.jobset.nothing_endless

import data.lib
import data.lib.roles

report contains lib.in_workload(g.workload, lib.container_path(g, i, ["name"]), message) if {
	some g in lib.all_pods
	roles.worker(g.pod)
	count(lib.containers(g)) > 1
	some i, container in lib.containers(g)
	container.name != "node"
	what := roles.endless(container)
	message := sprintf("the container %s runs %s, which never ends: when the training has ended its pod stays Running and keeps its GPUs", [
		container.name,
		what,
	])
}

report contains object.union(lib.in_workload(g.workload, lib.container_path(g, i, ["image"]), message), {"severity": "warning"}) if {
	some g in lib.all_pods
	roles.worker(g.pod)
	count(lib.containers(g)) > 1
	some i, container in lib.containers(g)
	container.name != "node"
	not roles.endless(container)
	regex.match(daemons, object.get(container, "image", ""))
	message := sprintf("the container %s is of an image that runs for ever: if it does, its pod stays Running and keeps its GPUs", [container.name])
}

report contains object.union(lib.in_workload(g.workload, lib.container_path(g, i, ["name"]), message), {"fix": fix(g.workload)}) if {
	some g in lib.all_pods
	not roles.worker(g.pod)
	count(roles.workers(g.workload)) > 0
	g.pod.name in roles.awaited(g.workload)
	object.get(g.workload.jobset.spec, ["successPolicy", "operator"], "All") == "All"
	some i, container in lib.containers(g)
	what := roles.endless(container)
	message := sprintf("the Job %s runs %s, which never ends, and the run is Complete only when it has: it never is", [g.pod.name, what])
}

report contains object.union(lib.in_workload(w, path, message), {"fix": "Wait for it to be Ready (`status: Ready`)."}) if {
	some w in lib.workloads
	some i, job in roles.jobs(w)
	some n, before in job.dependsOn
	before.status == "Complete"
	some other in roles.jobs(w)
	other.name == before.name
	some container in other.template.spec.template.spec.containers
	what := roles.endless(container)
	path := ["spec", "replicatedJobs", i, "dependsOn", n, "status"]
	message := sprintf("the Job %s waits for %s to be Complete, which runs %s and never is", [job.name, before.name, what])
}

# Images of programs that wait for what comes, until somebody stops them.
daemons := `(^|/)(tensorboard|fluent-?bit|fluentd|filebeat|promtail|vector|dcgm-exporter|node-exporter|pushgateway|statsd-exporter|opentelemetry-collector(-contrib)?|nginx|envoy)(:|@|$)`

fix(w) := sprintf("Say whose success counts: `successPolicy: {operator: All, targetReplicatedJobs: [%s]}`.", [lib.joined(roles.workers(w))])
