package rules_test.queue.kueue_manages_trainjobs

import data.lib
import data.rules.queue.kueue_manages_trainjobs
import data.rules_test.runs

configured(from, frameworks) := json.patch(from, [runs.set("/objects/-", {
	"apiVersion": "v1",
	"kind": "ConfigMap",
	"metadata": {"name": "kueue-manager-config", "namespace": "kueue-system"},
	"data": {
		"other": "no: {configuration",
		"controller_manager_config.yaml": sprintf("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nintegrations: {frameworks: [%s]}\n", [frameworks]),
	},
})])

found(framework, kind) := {lib.at(6, ["data", "controller_manager_config.yaml", "integrations", "frameworks"], sprintf("integrations.frameworks lacks %s: Kueue takes no notice of the queue label of any %s", [framework, kind]))}

test_fail_trainjob if {
	kueue_manages_trainjobs.report == found("trainer.kubeflow.org/trainjob", "TrainJob") with input as configured(runs.kueue, "batch/job, jobset.x-k8s.io/jobset")
}

test_fail_jobset if {
	kueue_manages_trainjobs.report == found("jobset.x-k8s.io/jobset", "JobSet") with input as configured(runs.jobset(runs.kueue), "trainer.kubeflow.org/trainjob")
}

test_success_named if kueue_manages_trainjobs.report == set() with input as configured(runs.kueue, "batch/job, trainer.kubeflow.org/trainjob")

test_success_default if kueue_manages_trainjobs.report == set() with input as configured(runs.kueue, "")

test_success_nothing_queued if kueue_manages_trainjobs.report == set() with input as configured(runs.volcano, "batch/job")

test_success_no_configuration if kueue_manages_trainjobs.report == set() with input as runs.kueue
