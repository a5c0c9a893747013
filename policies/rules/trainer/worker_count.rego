# METADATA
# title: TF_NUM_WORKERS is the number of workers
# description: |
#   TF_NUM_WORKERS tells each worker how many there are. Where it is above numNodes, all wait for workers that never come;
#   where it is below, some have no place in the cluster: tfrun ends them with status 2, and the run fails when its restarts
#   are used up. A patch that changes numNodes easily misses it. tfrun counts the pods of a worker's own Job: a second Job that it starts is a cluster of its own.
# related_resources:
# - ref: https://www.tensorflow.org/guide/distributed_training#setting_up_the_tf_config_environment_variable
#   description: every worker lists all workers
# custom:
#   symptoms:
#   - "workers wait for others that never come"
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_with_a_number_above_the_workers_all_wait_for_one_that_never_comes"
#   - "lab: tests/lab/test_gate_and_cluster.py::test_with_a_number_below_the_workers_the_others_end_and_the_run_fails"
#   - "lab: tests/lab/test_roles.py::test_a_second_job_of_workers_is_a_cluster_of_its_own"
#   - "lab: tests/lab/test_roles.py::test_a_second_job_of_workers_waits_for_one_of_its_own"
#   - "lab: tests/training/test_supervision.py::test_a_missing_worker_ends_all_with_one_line"
#   severity: error
#   fix: |
#     Write the same number in both, or let the run's own kustomization copy spec.trainer.numNodes into
#     spec.trainer.env.[name=TF_NUM_WORKERS].value by a replacement.
#   example: |
#     kind: TrainJob
#     spec:
#       trainer:
#         numNodes: 4
#         env: [{name: TF_NUM_WORKERS, value: "2"}]
package rules.trainer.worker_count

import data.lib
import data.lib.environment
import data.lib.roles

report contains object.union(environment.finding(g, variable, message), severity(g.workload)) if {
	some g in lib.tensorflow_pods
	some i, _ in lib.containers(g)
	variable := environment.variable(g, i, "TF_NUM_WORKERS")
	size := workers(g)
	trim_space(variable.value) != sprintf("%d", [size])
	message := differ(variable.value, size)
}

# tfrun counts the pods of the worker's own Job: each Job that it starts is a cluster of its own.
workers(g) := g.pod.count if roles.under_tfrun(g)

workers(g) := lib.gang_size(g.workload) if {
	not roles.under_tfrun(g)
	not trained(g.workload)
}

workers(g) := sum([p.count | some p in g.workload.pods; p.trainer]) if {
	not roles.under_tfrun(g)
	trained(g.workload)
}

trained(w) if {
	some p in w.pods
	p.trainer
}

# Where the runtime is not known, what the TrainJob itself says of both.
report contains lib.at(w.object, ["spec", "trainer", "env", i, "value"], differ(variable.value, trainer.numNodes)) if {
	some w in input.workloads
	w.kind == "TrainJob"
	w.jobset == null
	trainer := input.objects[w.object].spec.trainer
	some i, variable in trainer.env
	variable.name == "TF_NUM_WORKERS"
	regex.match(`^\s*[0-9]+\s*$`, variable.value)
	trim_space(variable.value) != sprintf("%d", [trainer.numNodes])
}

differ(value, size) := sprintf("TF_NUM_WORKERS is %v and the number of workers is %d: the workers do not agree on their cluster", [value, size])

# A TrainJob can still give both numbers of a runtime.
severity(w) := {"severity": "warning"} if endswith(w.kind, "TrainingRuntime")

severity(w) := {"severity": "error"} if not endswith(w.kind, "TrainingRuntime")
