package rules_test.argocd.runtime_before_run

import data.rules.argocd.runtime_before_run.report
import data.rules_test.applications

run := object.union(applications.run, {"runtime": {"kind": "TrainingRuntime", "name": "tf"}})

deploying(name, annotations) := applications.with_view("deploys", [run, {
	"apiVersion": "trainer.kubeflow.org/v1alpha1",
	"kind": "TrainingRuntime",
	"metadata": {"name": name, "namespace": "owls", "annotations": annotations},
}])

found(wave, severity) := {{
	"object": 0,
	"path": ["spec", "source"],
	"message": sprintf("Application owls applies TrainJob/owls/owls-1 in wave 0 and its runtime TrainingRuntime/owls/tf in wave %d: a TrainJob without its runtime is refused", [wave]),
	"severity": severity,
}}

test_fail_later if report == found(1, "error") with input as deploying("tf", {"argocd.argoproj.io/sync-wave": "1"})

test_fail_together if report == found(0, "warning") with input as deploying("tf", {})

test_success_earlier if report == set() with input as deploying("tf", {"argocd.argoproj.io/sync-wave": "-1"})

test_success_another if report == set() with input as deploying("torch", {})
