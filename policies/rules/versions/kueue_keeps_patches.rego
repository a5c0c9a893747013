# METADATA
# title: Kueue keeps every field of the runtimePatches
# description: |
#   When Kueue admits a TrainJob it writes the whole object back, as the Trainer that Kueue was built with knows it: Kueue
#   0.17.0 has Trainer 2.2.0 and drops the fields that came later. Trainer then tries to take them out of the JobSet that
#   it has already made, JobSet's webhook refuses ("field is immutable"), and the run stays suspended and holds its quota.
# related_resources:
# - ref: https://github.com/kubernetes-sigs/kueue/blob/v0.17.0/go.mod
#   description: the Trainer that Kueue is built with
# - ref: https://github.com/kubeflow/trainer/blob/v2.3.0/pkg/apis/trainer/v1alpha1/trainjob_types.go
#   description: PodSpecPatch, with the field that 2.2 does not have
# custom:
#   symptoms:
#   - "an admitted TrainJob stays suspended: vjobset.kb.io denied the request, field is immutable"
#   seen:
#   - "lab: tests/lab/test_faults.py::test_kueue_of_this_version_drops_a_grace_period_in_a_runtime_patch"
#   - "source: kueue go.mod"
#   - "source: kueue pkg/controller/jobs/trainjob/trainjob_controller.go"
#   severity: error
#   needs: cluster
#   fix: "Write it in the runtime: Kueue does not touch that."
#   example: |
#     # cluster.yaml has kueue: "0.17.0", trainer: "2.3.0"
#     runtimePatches:
#     - manager: example.com/team
#       trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {
#         terminationGracePeriodSeconds: 60}}}}}]}}}
package rules.versions.kueue_keeps_patches

import data.lib

# Fields of a patch's pod spec that Trainer has and the Trainer that Kueue is built with has not, by Kueue's version.
dropped := {"0.17.0": {"terminationGracePeriodSeconds"}}

report contains lib.at(i, array.concat(base, ["template", "spec", "template", "spec", field]), message) if {
	some i, trainjob in lib.objects("trainer.kubeflow.org", "TrainJob")
	trainjob.metadata.labels["kueue.x-k8s.io/queue-name"]
	some n, patch in trainjob.spec.runtimePatches
	some j, job in patch.trainingRuntimeSpec.template.spec.replicatedJobs
	base := ["spec", "runtimePatches", n, "trainingRuntimeSpec", "template", "spec", "replicatedJobs", j]
	some field, _ in job.template.spec.template.spec
	field in dropped[input.cluster.versions.kueue]
	message := sprintf(
		"Kueue %s drops %s from the patch when it admits the run: Trainer cannot change the JobSet any more and the run stays suspended",
		[input.cluster.versions.kueue, field],
	)
}
