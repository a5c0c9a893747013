# METADATA
# title: A runtime of one's own is not taken for one of Trainer's
# description: |
#   The Helm chart of Trainer 2.3 applies its runtimes by a Job after each install and upgrade: it overwrites whatever has
#   their names, marks them with the label trainer.kubeflow.org/managed-by: runtimes-installer, and then deletes every
#   ClusterTrainingRuntime with this label that is not one of them; before the chart goes, all with the label. With
#   trainer.kubeflow.org/webhook-validation: disabled, which its own runtimes bear, Trainer's webhook does not look at a runtime.
#   What the Job applies is no part of what an Application deploys: Argo CD does not show it, restore it or, as it knows
#   no pre-delete hook, remove it, and where every runtime is turned off again the Job is gone and they stay.
# related_resources:
# - ref: https://github.com/kubeflow/trainer/blob/v2.3.0/charts/kubeflow-trainer/templates/runtimes/installer-job.yaml
#   description: what is applied, and what is deleted
# - ref: https://github.com/kubeflow/trainer/blob/v2.3.0/manifests/base/webhook/patch_validating.yaml
#   description: the runtimes that the webhook looks at
# custom:
#   symptoms:
#   - "a runtime is gone after an upgrade of Trainer"
#   severity: error
#   seen:
#   - "lab: tests/lab/test_own_runtime.py::test_the_installer_of_the_chart_overwrites_and_deletes"
#   - "lab: tests/lab/test_own_runtime.py::test_what_the_installer_applies_is_nothing_to_argo_cd"
#   - "lab: tests/lab/test_own_runtime.py::test_a_label_keeps_the_webhook_away"
#   - "source: trainer charts/kubeflow-trainer/templates/runtimes/installer-job.yaml"
#   - "source: trainer charts/kubeflow-trainer/templates/runtimes/cleanup-job.yaml"
#   - "source: trainer charts/kubeflow-trainer/templates/runtimes/_runtimes.tpl"
#   - "source: argocd docs/user-guide/helm.md"
#   - "source: trainer manifests/base/webhook/patch_validating.yaml"
#   fix: "Give the runtime a name of its own and none of these labels."
#   example: |
#     kind: ClusterTrainingRuntime
#     metadata:
#       name: tensorflow-distributed
#       labels: {trainer.kubeflow.org/managed-by: runtimes-installer}
package rules.trainer.own_runtime

import data.lib
import data.lib.argocd
import data.lib.shipped

managed_by := "trainer.kubeflow.org/managed-by"

validation := "trainer.kubeflow.org/webhook-validation"

report contains lib.at(i, ["metadata", "labels", managed_by], message) if {
	some i, runtime in lib.objects("trainer.kubeflow.org", "ClusterTrainingRuntime")
	runtime.metadata.labels[managed_by] == "runtimes-installer"
	not shipped.runtimes[runtime.metadata.name]
	message := "the label managed-by: runtimes-installer gives the runtime to Trainer's installer, which deletes it with the next upgrade"
}

report contains object.union(lib.at(i, ["metadata", "name"], message), certainty(runtime.metadata.name)) if {
	some i, runtime in lib.objects("trainer.kubeflow.org", "ClusterTrainingRuntime")
	shipped.runtimes[runtime.metadata.name]
	not as_shipped(runtime)
	message := sprintf("Trainer ships a runtime %s: where its installer applies it, this one is overwritten", [runtime.metadata.name])
}

report contains object.union(lib.at(i, ["metadata", "labels", validation], message), {"severity": "warning"}) if {
	some i, runtime in lib.runtimes
	runtime.metadata.labels[validation] == "disabled"
	not shipped.runtimes[runtime.metadata.name]
	message := "the label webhook-validation: disabled keeps Trainer's webhook away: what it would refuse shows up in each TrainJob of the runtime"
}

# Where runtimes are kept in Git, these are the only ones that Git does not have.
report contains object.union(
	lib.at(app.object, array.concat(source.path, ["helm"]), message),
	{"severity": "warning", "fix": "Leave the chart's runtimes turned off, and keep those that are needed with the others."},
) if {
	some app in input.applications
	some source in app.sources
	by_a_job(source.spec)
	names := shipped.installed_by(source.spec)
	count(names) > 0
	count(kept) > 0
	message := sprintf("%s has a Job of the chart apply %s: Argo CD neither shows nor restores nor removes them, as it does with the runtimes of the repository (%s)", [
		argocd.title(app),
		lib.joined(names),
		lib.joined(kept),
	])
}

# Since Trainer 2.3.
by_a_job(source) if semver.compare(trim_prefix(source.targetRevision, "v"), "2.3.0") >= 0

kept contains runtime.metadata.name if {
	some runtime in lib.objects("trainer.kubeflow.org", "ClusterTrainingRuntime")
	not shipped.runtimes[runtime.metadata.name]
}

# One of Trainer's own, marked as its installer or its kustomization marks it.
as_shipped(runtime) if runtime.metadata.labels[managed_by] == "runtimes-installer"

as_shipped(runtime) if runtime.metadata.labels[validation] == "disabled"

# Only where the chart is told to apply that runtime is it certain.
certainty(name) := {"severity": "error"} if name in shipped.installed

certainty(name) := {"severity": "warning"} if not name in shipped.installed
