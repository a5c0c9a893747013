# METADATA
# title: Argo CD applies a runtime before the runs that are made from it
# description: |
#   The webhooks refuse a TrainJob whose runtime does not exist yet, and a wave begins only when all of the one before was
#   applied: a runtime in a later wave than its run is never applied (an error). In the same wave what comes first by name
#   is applied first, and a run that comes too early waits for the next attempt (a warning). Where no Application is
#   known, annotations in one kustomization or file, which only Argo CD reads, tell a later wave.
# related_resources:
# - ref: https://argo-cd.readthedocs.io/en/stable/user-guide/sync-waves/
#   description: sync waves
# custom:
#   seen:
#   - "lab: tests/lab/test_argocd_claims.py::test_a_runtime_in_a_later_wave_than_its_run_is_never_applied"
#   - "lab: tests/lab/test_gate_and_cluster.py::test_a_run_without_its_runtime_is_refused"
#   - "source: gitops-engine pkg/sync/sync_context.go"
#   - "source: gitops-engine pkg/sync/sync_tasks.go"
#   severity: error
#   fix: "Give the runtime an earlier wave: the annotation argocd.argoproj.io/sync-wave: \"-1\"."
#   symptoms:
#   - "admission webhook denied the request: runtime … not found"
#   example: |
#     kind: TrainingRuntime
#     metadata:
#       name: tf-owls
#       annotations: {argocd.argoproj.io/sync-wave: "1"}   # the TrainJob has none, so that it comes in wave 0
package rules.argocd.runtime_before_run

import data.lib
import data.lib.argocd

report contains object.union(argocd.at(app, ["source"], message), {"severity": severity(runtime, run)}) if {
	some app in input.applications
	some run in app.deploys
	run.kind == "TrainJob"
	some runtime in app.deploys
	runs_by(runtime, run)
	wave(runtime) >= wave(run)
	message := sprintf("%s applies %s in wave %d and its runtime %s in wave %d: a TrainJob without its runtime is refused", [argocd.title(app), lib.title(run), wave(run), lib.title(runtime), wave(runtime)])
}

report contains lib.at(w.runtime, ["metadata", "annotations", annotation], message) if {
	some w in input.workloads
	run := input.objects[w.object]
	run.kind == "TrainJob"
	runtime := input.objects[w.runtime]
	input.units[w.runtime] == input.units[w.object]
	wave(runtime) > wave(run)
	not deployed(run)
	message := sprintf("%s is in wave %d and its runtime %s in wave %d: Argo CD applies the TrainJob first, which is refused, and the runtime never comes", [lib.title(run), wave(run), lib.title(runtime), wave(runtime)])
}

# Whether a known Application deploys the run: it tells then.
deployed(run) if {
	some app in input.applications
	some manifest in app.deploys
	lib.title(manifest) == lib.title(run)
}

severity(runtime, run) := "error" if wave(runtime) > wave(run)

severity(runtime, run) := "warning" if wave(runtime) == wave(run)

runs_by(runtime, run) if {
	lib.api_group(runtime) == "trainer.kubeflow.org"
	runtime.kind == run.runtime.kind
	runtime.metadata.name == run.runtime.name
}

annotation := "argocd.argoproj.io/sync-wave"

wave(manifest) := to_number(manifest.metadata.annotations[annotation])

wave(manifest) := 0 if not manifest.metadata.annotations[annotation]
