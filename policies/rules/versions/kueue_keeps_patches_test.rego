package rules_test.versions.kueue_keeps_patches

import data.rules.versions.kueue_keeps_patches as rule

job(labels, pod) := {
	"apiVersion": "trainer.kubeflow.org/v1alpha1",
	"kind": "TrainJob",
	"metadata": {"name": "a", "labels": labels},
	"spec": {"runtimePatches": [{"trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{
		"name": "node",
		"template": {"spec": {"template": {"spec": pod}}},
	}]}}}}]},
}

queued := {"kueue.x-k8s.io/queue-name": "q"}

judged(kueue, object) := found if {
	found := rule.report with input as {"cluster": {"versions": {"kueue": kueue}}, "objects": [object]}
}

test_fail_field_that_kueue_does_not_know if {
	judged("0.17.0", job(queued, {"terminationGracePeriodSeconds": 60})) == {{
		"object": 0,
		"path": [
			"spec", "runtimePatches", 0, "trainingRuntimeSpec", "template", "spec", "replicatedJobs", 0,
			"template", "spec", "template", "spec", "terminationGracePeriodSeconds",
		],
		"message": "Kueue 0.17.0 drops terminationGracePeriodSeconds from the patch when it admits the run: Trainer cannot change the JobSet any more and the run stays suspended",
	}}
}

test_success_field_that_it_knows if judged("0.17.0", job(queued, {"nodeSelector": {"a": "b"}})) == set()

test_success_not_queued if judged("0.17.0", job({}, {"terminationGracePeriodSeconds": 60})) == set()

test_success_another_kueue if judged("0.16.1", job(queued, {"terminationGracePeriodSeconds": 60})) == set()
