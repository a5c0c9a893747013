package rules_test.versions.kueue_and_trainer

import data.rules.versions.kueue_and_trainer as rule

job := {
	"apiVersion": "trainer.kubeflow.org/v1alpha1",
	"kind": "TrainJob",
	"metadata": {"name": "a", "labels": {"kueue.x-k8s.io/queue-name": "q"}},
}

judged(kueue, trainer, objects) := found if {
	found := rule.report with input as {
		"cluster": {"versions": {"kueue": kueue}},
		"versions": {"kueue": kueue, "trainer": trainer},
		"objects": objects,
	}
}

test_fail_new_kueue_old_trainer if {
	judged("0.17.0", "2.1.0", [job]) == {{
		"facts": true,
		"path": ["versions", "kueue"],
		"message": "Kueue 0.17.0 writes spec.runtimePatches, which Trainer 2.1.0 does not have: admitted TrainJobs stay suspended for ever",
	}}
}

test_fail_old_kueue_new_trainer if {
	judged("0.16.1", "2.3.0", [job]) == {{
		"facts": true,
		"path": ["versions", "kueue"],
		"message": "Kueue 0.16.1 writes spec.podTemplateOverrides, which Trainer 2.3.0 does not have, and drops the runtimePatches of what it admits",
	}}
}

test_success_pairs if {
	judged("0.16.1", "2.1.0", [job]) == set()
	judged("0.17.0", "2.2.1", [job]) == set()
	judged("0.17.0", "2.3.0", [job]) == set()
}

test_success_nothing_is_queued if judged("0.17.0", "2.1.0", []) == set()
