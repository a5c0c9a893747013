# METADATA
# title: Argo CD leaves alone what Kueue writes into a TrainJob
# description: |
#   Kueue admits a run by setting spec.suspend and by an entry of its own in spec.runtimePatches. An Application that
#   compares and applies these fields is OutOfSync as soon as a run is admitted; what a sync then writes, with selfHeal at
#   once, is Kueue's to decide. An Application with ServerSideApply=true compares and writes only what Git has: it needs
#   nothing ignored as long as its runs have no suspend and no patch of Kueue's in Git.
#   ignoreDifferences alone only hides the difference: a sync still writes without RespectIgnoreDifferences.
# related_resources:
# - ref: https://argo-cd.readthedocs.io/en/stable/user-guide/diffing/
#   description: ignoreDifferences
# - ref: https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/#respect-ignore-difference-configs
#   description: RespectIgnoreDifferences
# - ref: https://kueue.sigs.k8s.io/docs/tasks/run/trainjobs/
#   description: TrainJobs in Kueue
# custom:
#   seen:
#   - "lab: tests/lab/test_argocd_claims.py::test_what_kueue_writes_is_a_difference_where_argo_cd_applies_client_side"
#   - "lab: tests/lab/test_argocd.py::test_a_pushed_run_trains_and_comes_to_rest"
#   - "source: kueue pkg/controller/jobs/trainjob/trainjob_controller.go"
#   - "source: argocd controller/sync.go"
#   severity: error
#   needs: cluster
#   fix: "Ignore /spec/suspend and Kueue's runtimePatches of TrainJob (group trainer.kubeflow.org) under ignoreDifferences, and add RespectIgnoreDifferences=true to syncOptions."
#   symptoms:
#   - An application is OutOfSync as soon as Kueue admits its TrainJob
#   - A TrainJob is suspended again after Kueue has admitted it
#   example: |
#     kind: Application
#     spec:
#       source: {path: clusters/lab/runs/nightly}   # a TrainJob with a queue label
#       syncPolicy:
#         automated: {selfHeal: true}
#       ignoreDifferences: []
package rules.argocd.kueue_ignored

import data.lib
import data.lib.argocd
import data.lib.queueing

report contains argocd.at(app, ["ignoreDifferences"], sprintf("%s deploys TrainJobs that Kueue queues and does not ignore %s: Argo CD fights Kueue over it", [argocd.title(app), concat(" and ", lacking)])) if {
	some app in queued
	lacking := [field | some field, names in fields; not ignored(app, names)]
	count(lacking) > 0
}

report contains argocd.at(app, ["syncPolicy", "syncOptions"], sprintf("%s ignores what Kueue writes into TrainJobs but lacks RespectIgnoreDifferences=true: a sync still overwrites it", [argocd.title(app)])) if {
	some app in queued
	every names in fields { ignored(app, names) }
	not argocd.has_option(app, "RespectIgnoreDifferences=true")
}

# What Kueue writes, and what that is called in the versions of Trainer.
fields := {
	"spec.suspend": {"suspend"},
	"Kueue's spec.runtimePatches": {"runtimePatches", "podTemplateOverrides", "podSpecOverrides"},
}

queued contains app if {
	lib.has_kueue
	some app in input.applications
	not patched(app)
	some manifest in argocd.deployed(app)
	manifest.kind == "TrainJob"
	queueing.labelled(manifest)
	not left_alone(app, manifest)
}

# Whether a sync neither compares nor writes what Kueue writes into a TrainJob.
left_alone(app, manifest) if {
	app.known
	argocd.has_option(app, "ServerSideApply=true")
	not argocd.has_option(app, "Replace=true")
	options := object.get(manifest.metadata, ["annotations", argocd.sync_options], "")
	every option in ["ServerSideApply=false", "Replace=true"] { not contains(options, option) }
	spec := object.get(manifest, "spec", {})
	every field in ["suspend", "podTemplateOverrides", "podSpecOverrides"] { not field in object.keys(spec) }
	every patch in object.get(spec, "runtimePatches", []) { not startswith(patch.manager, "kueue.x-k8s.io/") }
}

queued contains app if {
	lib.has_kueue
	some app in input.applications
	not patched(app)
	not app.known
	count([manifest | some manifest in argocd.deployed(app); argocd.job(manifest)]) == 0
	not argocd.platform(app)
	by_kueue(app)
}

by_kueue(app) if {
	not lib.has_volcano
	argocd.called_training(app)
}

by_kueue(app) if argocd.queued_namespace(app)

by_kueue(app) if {
	some entry in app.spec.ignoreDifferences
	entry.kind == "TrainJob"
	some field in ["jsonPointers", "jqPathExpressions"]
	some text in entry[field]
	contains(text, "suspend")
}

# A templatePatch, a text, may add anything.
patched(app) if input.objects[app.object].spec.templatePatch

ignored(app, names) if {
	some entry in app.spec.ignoreDifferences
	argocd.matches(entry.kind, "TrainJob", ["/"])
	argocd.matches(object.get(entry, "group", ""), "trainer.kubeflow.org", ["/"])
	covers(entry, names)
}

ignored(_, names) if {
	some config in lib.objects_named("", "ConfigMap", "argocd-cm")
	some key in ["resource.customizations.ignoreDifferences.trainer.kubeflow.org_TrainJob", "resource.customizations.ignoreDifferences.all"]
	yaml.is_valid(config.data[key])
	covers(yaml.unmarshal(config.data[key]), names)
}

covers(entry, names) if {
	some pointer in entry.jsonPointers
	parts := split(pointer, "/")
	parts[1] == "spec"
	reaches(parts, names)
}

covers(entry, names) if {
	some expression in entry.jqPathExpressions
	some name in names
	contains(expression, name)
	not endswith(trim_space(expression), ".time")
}

covers(entry, _) if {
	some expression in entry.jqPathExpressions
	trim_space(expression) == ".spec"
}

covers(entry, _) if {
	some manager in entry.managedFieldsManagers
	contains(lower(manager), "kueue")
}

reaches(parts, _) if count(parts) == 2

reaches(parts, names) if parts[2] in names
