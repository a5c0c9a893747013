# METADATA
# title: Argo CD neither forces nor replaces training
# description: |
#   With Force or Replace Argo CD deletes and creates what it cannot change. A TrainJob is immutable, so every difference
#   ends a run that trains and starts it from its last checkpoint, more often than anybody meant. Where what an
#   Application deploys is in another repository, its names tell whether it is the platform's, which may need Replace.
# related_resources:
# - ref: https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/#replace-resource-instead-of-applying-changes
#   description: Replace and Force
# - ref: https://github.com/argoproj/argo-cd/issues/24005
#   description: Jobs are created again and again
# custom:
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

harmful := {"Force=true", "Replace=true"}

report contains argocd.at(app, each.path, sprintf("%s deploys training with %s: a TrainJob that differs is deleted and started again", [argocd.title(app), each.option])) if {
	some app in input.applications
	deploys_training(app)
	some each in argocd.options(app)
	each.option in harmful
}

# An operation that is written into the Application is carried out at once.
report contains lib.at(app.object, ["operation", "sync", "syncStrategy", strategy, "force"], sprintf("%s deploys training with an operation that forces: a TrainJob that differs is deleted and started again", [argocd.title(app)])) if {
	some app in input.applications
	deploys_training(app)
	some strategy in ["apply", "hook"]
	input.objects[app.object].operation.sync.syncStrategy[strategy].force == true
}

report contains lib.at(i, ["metadata", "annotations", argocd.sync_options], sprintf("%s has the sync option %s: where it differs it is deleted and created again", [lib.title(manifest), option])) if {
	some i, manifest in input.objects
	argocd.training(manifest)
	some text in split(manifest.metadata.annotations[argocd.sync_options], ",")
	option := trim_space(text)
	option in harmful
}

deploys_training(app) if {
	some manifest in argocd.deployed(app)
	argocd.training(manifest)
}

deploys_training(app) if {
	not app.known
	not argocd.platform(app)
}
