package rules_test.argocd.runtime_before_run

import data.rules.argocd.runtime_before_run.report
import data.rules_test.applications
import data.rules_test.fixture

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

alone(wave, units) := object.union(
	json.patch(fixture.trainjob, [{"op": "add", "path": "/objects/1/metadata/annotations", "value": {"argocd.argoproj.io/sync-wave": wave}}]),
	{"units": units},
)

told := {{
	"object": 1,
	"path": ["metadata", "annotations", "argocd.argoproj.io/sync-wave"],
	"message": "TrainJob/team/run-1 is in wave 0 and its runtime ClusterTrainingRuntime/tf in wave 1: Argo CD applies the TrainJob first, which is refused, and the runtime never comes",
}}

test_fail_without_application if report == told with input as alone("1", [0, 0, 0])

test_success_in_another_unit if report == set() with input as alone("1", [0, 1, 1])

test_success_same_wave_without_application if report == set() with input as alone("0", [0, 0, 0])

test_success_deployed_by_an_application if {
	known := {"applications": [{"deploys": [fixture.trainjob.objects[0]]}]}
	count([found | some found in report; found.object == 1]) == 0 with input as object.union(alone("1", [0, 0, 0]), known)
}
