# METADATA
# title: Each worker has a task of its own
# description: |
#   TF_CONFIG names the cluster and which of its tasks this worker is. Written into the pod template, as trainer.env is, it
#   is the same in every pod: all take themselves for the same worker, and none trains. With index 0 the first one that
#   registers ends when the next does so under its name, and the others wait; with another index all wait for worker 0,
#   which nobody is. tfrun makes each worker's own and replaces one that is there.
# related_resources:
# - ref: https://www.tensorflow.org/guide/distributed_training#setting_up_the_tf_config_environment_variable
#   description: the task differs in each worker
# custom:
#   symptoms:
#   - "all workers wait for one another from the start"
#   - "unexpectedly tried to connect with a different incarnation"
#   - "the TF_CONFIG of the environment is replaced"
#   severity: error
#   seen:
#   - "lab: tests/training/test_training.py::test_workers_that_take_themselves_for_the_same_one_do_not_train"
#   - "lab: tests/training/test_supervision.py::test_outside_a_pod_it_trains_alone_and_says_so"
#   - "source: tensorflow python/distribute/cluster_resolver/tfconfig_cluster_resolver.py"
#   - "source: trainer pkg/runtime/framework/plugins/plainml/plainml.go"
#   fix: "Leave TF_CONFIG out and start the training by tfrun, which gives each worker its own."
#   example: |
#     kind: TrainJob
#     spec:
#       trainer:
#         numNodes: 3
#         env: [{name: TF_CONFIG, value: '{"cluster": {"worker": ["a:1", "b:1", "c:1"]}, "task": {"type": "worker", "index": 0}}'}]
package rules.run.own_task

import data.lib
import data.lib.environment
import data.lib.roles

report contains environment.finding(g, variable, message) if {
	some g in lib.gangs
	g.pod.count > 1
	i := lib.trainer_container(g)
	not roles.under_tfrun(g)
	not may_be_changed(g, i)
	variable := environment.variable(g, i, "TF_CONFIG")
	json.is_valid(variable.value)
	index := json.unmarshal(variable.value).task.index
	message := sprintf("TF_CONFIG says task %v to each of the %d workers: all take themselves for the same one", [index, g.pod.count])
}

report contains object.union(environment.finding(g, variable, message), {"severity": "warning", "fix": "Leave TF_CONFIG out."}) if {
	some g in lib.tensorflow_pods
	i := lib.trainer_container(g)
	roles.under_tfrun(g)
	variable := environment.variable(g, i, "TF_CONFIG")
	message := "TF_CONFIG is replaced: tfrun gives each worker its own"
}

# A command, or a script of the run, that knows the variable may make each worker's own of it.
may_be_changed(g, i) if regex.match(`TF_CONFIG|JOB_COMPLETION_INDEX|HOSTNAME|hostname`, roles.words(lib.containers(g)[i]))

may_be_changed(g, _) if {
	some volume in lib.pod_spec(g).volumes
	some config_map in lib.objects_named("", "ConfigMap", volume.configMap.name)
	some text in config_map.data
	contains(text, "TF_CONFIG")
}
