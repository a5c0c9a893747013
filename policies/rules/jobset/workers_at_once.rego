# METADATA
# title: All workers of a Job run at a time
# description: |
#   A Job runs no more pods at a time than its parallelism, whose default is 1, whatever its completions: the first workers wait
#   for the others, which start when the first are done. Trainer sets both to the number of nodes; a JobSet of one's own
#   has to say both.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/workloads/controllers/job/#controlling-parallelism
#   description: parallelism and completions
# custom:
#   symptoms:
#   - "only some of the workers of a JobSet start"
#   severity: error
#   seen:
#   - "lab: tests/lab/test_runs_left_alone.py::test_without_parallelism_the_second_worker_of_a_jobset_starts_when_the_first_is_done"
#   - "source: kubernetes pkg/controller/job/job_controller.go"
#   fix: "Write the same number as parallelism and completions."
#   example: |
#     kind: JobSet
#     spec:
#       replicatedJobs:
#       - name: worker
#         template: {spec: {completions: 4}}   # parallelism is 1
package rules.jobset.workers_at_once

import data.lib

report contains lib.in_workload(g.workload, lib.job_path(g, ["parallelism"]), message) if {
	some g in lib.tensorflow_pods
	completions := lib.job_spec(g).completions
	parallelism := object.get(lib.job_spec(g), "parallelism", 1)
	parallelism < completions
	together(g, parallelism)
	message := sprintf("parallelism is %d and completions %d: %d of %d workers start, and wait for the others, which start when they are done", [
		parallelism,
		completions,
		parallelism,
		completions,
	])
}

# Single trainings one after another are no workers of one another.
together(_, parallelism) if parallelism > 1

together(g, _) if {
	some container in lib.containers(g)
	some name in ["TF_NUM_WORKERS", "TF_CONFIG"]
	lib.env(container, name)
}
