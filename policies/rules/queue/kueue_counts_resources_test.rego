package rules_test.queue.kueue_counts_resources

import data.rules.queue.kueue_counts_resources as rule

runtime := {
	"apiVersion": "trainer.kubeflow.org/v1alpha1",
	"kind": "ClusterTrainingRuntime",
	"spec": {"template": {"spec": {"replicatedJobs": [{"template": {
		"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
		"spec": {"template": {"spec": {"containers": [{
			"name": "node",
			"resources": {"requests": {"cpu": "8"}, "limits": {"cpu": "8", "fabric.example/hca": "2"}},
		}]}}},
	}}]}}},
}

job(labels, resources) := {
	"apiVersion": "trainer.kubeflow.org/v1alpha1",
	"kind": "TrainJob",
	"metadata": {"name": "a", "labels": labels},
	"spec": {"trainer": {"resourcesPerNode": resources}},
}

queued := {"kueue.x-k8s.io/queue-name": "q"}

judged(versions, trainjob) := found if {
	found := rule.report with input as {
		"cluster": {"versions": versions},
		"versions": versions,
		"objects": [runtime, trainjob],
		"workloads": [{"kind": "TrainJob", "object": 1, "runtime": 0}],
	}
}

pair := {"kueue": "0.17.0", "trainer": "2.3.0"}

test_fail_only_in_the_runtime if {
	judged(pair, job(queued, {"limits": {"cpu": "4"}})) == {{
		"object": 1,
		"path": ["spec", "trainer", "resourcesPerNode"],
		"message": "Kueue 0.17.0 does not count fabric.example/hca, which only the runtime asks for: the pods get what no quota knows of",
	}}
}

test_success_all_named if judged(pair, job(queued, {"requests": {"cpu": "4"}, "limits": {"fabric.example/hca": "2"}})) == set()

test_success_none_named if judged(pair, job(queued, {})) == set()

test_success_not_queued if judged(pair, job({}, {"limits": {"cpu": "4"}})) == set()

test_success_both_replace if judged({"kueue": "0.17.0", "trainer": "2.2.1"}, job(queued, {"limits": {"cpu": "4"}})) == set()
