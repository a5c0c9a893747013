# METADATA
# title: The PodGroup of a run counts the pods that start together
# description: |
#   Trainer makes one PodGroup for all pods of a run: minMember is the sum of parallelism over all replicatedJobs, each
#   counted once. The scheduler places none of them before so many exist. Where a Job waits for another (dependsOn,
#   startupPolicy InOrder) they never do: the first Job's pods stay Pending for ever. Where a Job has replicas, Trainer
#   counts one of them: a part of the pods is enough, and holds its GPUs while the rest is missing.
# related_resources:
# - ref: https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/runtime/framework/plugins/volcano/volcano.go
#   description: what Trainer counts
# - ref: https://github.com/kubeflow/trainer/issues/2318
#   description: replicas are not counted yet
# custom:
#   symptoms:
#   - "pod group is not ready, 1 Pending, 2 minAvailable"
#   severity: error
#   seen:
#   - "lab: tests/lab/test_roles.py::test_a_gang_whose_jobs_wait_for_one_another_never_starts"
#   - "lab: tests/lab/test_roles.py::test_of_replicas_the_pod_group_counts_one_and_a_part_starts"
#   - "source: trainer pkg/runtime/framework/plugins/volcano/volcano.go"
#   - "source: trainer pkg/runtime/framework/plugins/coscheduling/coscheduling.go"
#   - "source: trainer pkg/runtime/core/trainingruntime.go"
#   fix: "Do in the worker's own pods (an initContainer) what has to come first; or queue the run by Kueue, which counts otherwise."
#   example: |
#     kind: ClusterTrainingRuntime
#     spec:
#       podGroupPolicy: {volcano: {}}
#       template:
#         spec:
#           replicatedJobs:
#           - name: dataset-initializer
#           - name: node
#             dependsOn: [{name: dataset-initializer, status: Complete}]
package rules.queue.gang_starts_together

import data.lib
import data.lib.roles

report contains lib.in_workload(w, ["spec", "replicatedJobs", i, "dependsOn"], message) if {
	some w in grouped
	some i, job in roles.jobs(w)
	count(job.dependsOn) > 0
	message := sprintf("the Job %s waits for %s, whose pods wait in the PodGroup for its own: none is ever scheduled", [
		job.name,
		lib.joined({before.name | some before in job.dependsOn}),
	])
}

report contains lib.in_workload(w, ["spec", "startupPolicy", "startupPolicyOrder"], message) if {
	some w in grouped
	w.jobset.spec.startupPolicy.startupPolicyOrder == "InOrder"
	count(roles.jobs(w)) > 1
	message := sprintf("the Jobs start one after another, and the pods of %s wait in the PodGroup for those of all: none is ever scheduled", [roles.jobs(w)[0].name])
}

report contains object.union(lib.in_workload(w, ["spec", "replicatedJobs", i, "replicas"], message), {"fix": fix}) if {
	some w in grouped
	some i, job in roles.jobs(w)
	job.replicas > 1
	message := sprintf("the Job %s has %d replicas, of which Trainer's PodGroup counts one: a part of the pods can start alone and hold what it has", [
		job.name,
		job.replicas,
	])
	fix := "Write parallelism and completions instead of replicas."
}

grouped contains w if {
	some w in lib.workloads
	some policy in ["volcano", "coscheduling"]
	w.podGroupPolicy[policy] != null
}
