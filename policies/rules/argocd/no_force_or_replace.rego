# METADATA
# title: Argo CD neither forces nor replaces training
# description: |
#   With Force Argo CD deletes and creates again what it cannot change. A TrainJob is immutable, so every difference ends
#   a run that trains and starts it from its last checkpoint, and beside Replace every sync does. Replace alone is refused
#   where a TrainJob differs, and takes from one that waits what Kueue wrote into it: that run is never started. Where what
#   an Application deploys is in another repository, its names tell whether it is the platform's, which may need Replace.
# related_resources:
# - ref: https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/#replace-resource-instead-of-applying-changes
#   description: Replace and Force
# - ref: https://github.com/argoproj/argo-cd/issues/24005
#   description: Jobs are created again and again
# custom:
#   seen:
#   - "lab: tests/lab/test_claims.py::test_what_replaces_is_refused_and_what_forces_makes_the_run_anew"
#   - "lab: tests/lab/test_claims.py::test_what_replaces_a_waiting_run_takes_it_from_kueue"
#   - "source: gitops-engine pkg/sync/sync_context.go"
#   - "source: kubernetes staging/src/k8s.io/kubectl/pkg/cmd/replace/replace.go"
#   - "source: kubernetes staging/src/k8s.io/kubectl/pkg/cmd/apply/patcher.go"
#   severity: error
#   fix: "Remove the option. A run that shall be different is a new run with a name of its own; objects that are too big for client-side apply need ServerSideApply=true."
#   symptoms:
#   - A TrainJob is deleted and created again at every sync
#   example: |
#     kind: Application
#     spec:
#       source: {path: clusters/lab/runs/nightly}
#       syncPolicy:
#         syncOptions: [Force=true, Replace=true]
package rules.argocd.no_force_or_replace

import data.lib
import data.lib.argocd

harmful := {
	"Force=true": "is deleted and started again where it differs",
	"Replace=true": "is refused where it differs, and loses what Kueue wrote into it where it waits",
}

report contains argocd.at(app, each.path, sprintf("%s deploys training with %s: a TrainJob %s", [argocd.title(app), each.option, harmful[each.option]])) if {
	some app in input.applications
	deploys_training(app)
	some each in argocd.options(app)
	harmful[each.option]
}

# An operation that is written into the Application is carried out at once.
report contains lib.at(app.object, ["operation", "sync", "syncStrategy", strategy, "force"], sprintf("%s deploys training with an operation that forces: a TrainJob %s", [argocd.title(app), harmful["Force=true"]])) if {
	some app in input.applications
	deploys_training(app)
	some strategy in ["apply", "hook"]
	input.objects[app.object].operation.sync.syncStrategy[strategy].force == true
}

report contains lib.at(i, ["metadata", "annotations", argocd.sync_options], sprintf("%s has the sync option %s: it %s", [lib.title(manifest), option, harmful[option]])) if {
	some i, manifest in input.objects
	argocd.training(manifest)
	some text in split(manifest.metadata.annotations[argocd.sync_options], ",")
	option := trim_space(text)
	harmful[option]
}

deploys_training(app) if {
	some manifest in argocd.deployed(app)
	argocd.training(manifest)
}

deploys_training(app) if {
	not app.known
	not argocd.platform(app)
}
