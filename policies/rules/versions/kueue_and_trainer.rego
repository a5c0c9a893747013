# METADATA
# title: Kueue and Trainer speak the same TrainJob
# description: |
#   Kueue 0.17 and later writes what it decides into spec.runtimePatches, which Trainer before 2.2 does not have: the API
#   server drops it and the TrainJob stays suspended for ever, although its Workload is admitted. Kueue 0.16 and earlier
#   writes spec.podTemplateOverrides, which Trainer 2.2 has removed, and knows no runtimePatches: when it admits a run,
#   what it decides never reaches the pods, and the run's own patches are dropped.
# related_resources:
# - ref: https://github.com/kubernetes-sigs/kueue/issues/14722
#   description: Kueue for TrainJobs of Trainer 2.2 needs runtimePatches
# - ref: https://github.com/kubernetes-sigs/kueue/issues/11931
#   description: an admitted TrainJob that stays suspended
# custom:
#   symptoms:
#   - "kueue runtime patch not found"
#   - "an admitted TrainJob stays suspended"
#   seen:
#   - "lab: tests/lab/test_kueue.py::test_kueue_cannot_start_what_it_admits_where_trainer_has_no_runtime_patches"
#   - "lab: tests/lab/test_kueue.py::test_an_old_kueue_drops_what_it_decides_and_the_patches_of_the_run"
#   - "source: kueue pkg/controller/jobs/trainjob/trainjob_controller.go"
#   - "source: kueue go.mod"
#   severity: error
#   needs: cluster
#   fix: "Run Kueue 0.16 with Trainer 2.1, and Kueue 0.17 or later with Trainer 2.2 or later; raise both in one change."
#   example: |
#     # cluster.yaml
#     versions: {kubernetes: "1.35", trainer: "2.1.0", kueue: "0.17.0"}
package rules.versions.kueue_and_trainer

import data.lib
import data.lib.versions

report contains lib.of_cluster(["versions", "kueue"], message) if {
	queued
	some pair in versions.failing
	every component, least in pair.from { semver.compare(version[component], least) >= 0 }
	every component, first in pair.below { semver.compare(version[component], first) < 0 }
	message := strings.replace_n({sprintf("{%s}", [component]): text | some component, text in version}, pair.why)
}

version := {"kueue": input.cluster.versions.kueue, "trainer": input.versions.trainer}

# Only where Kueue queues TrainJobs at all.
queued if {
	some job in lib.objects("trainer.kubeflow.org", "TrainJob")
	job.metadata.labels["kueue.x-k8s.io/queue-name"]
}
