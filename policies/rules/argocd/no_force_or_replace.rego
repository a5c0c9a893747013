# METADATA
# title: Argo CD neither forces nor replaces training
# description: |
#   With Force Argo CD deletes and creates again what it cannot change. A TrainJob is immutable, so every difference ends
#   a run that trains and starts it from its last checkpoint, and beside Replace every sync does. Beside ServerSideApply
#   nothing is applied at all: kubectl refuses the two together. Force is read from an object's annotation and from an
#   operation only; among the syncOptions of an Application it does nothing. Replace alone is refused where a TrainJob
#   differs, and takes from one that waits what Kueue wrote into it: that run is never started. Where what an Application
#   deploys is in another repository, its names tell whether it is the platform's, which may need Replace.
# related_resources:
# - ref: https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/#replace-resource-instead-of-applying-changes
#   description: Replace and Force
# - ref: https://github.com/argoproj/argo-cd/issues/24005
#   description: Jobs are created again and again
# custom:
#   seen:
#   - "lab: tests/lab/test_claims.py::test_what_replaces_is_refused_and_what_forces_makes_the_run_anew"
#   - "lab: tests/lab/test_claims.py::test_what_replaces_a_waiting_run_takes_it_from_kueue"
#   - "lab: tests/lab/test_argocd_claims.py::test_what_is_forced_is_not_applied_server_side"
#   - "lab: tests/lab/test_argocd_claims.py::test_an_operation_that_forces_makes_anew_what_cannot_be_changed"
#   - "source: gitops-engine pkg/sync/sync_context.go"
#   - "source: argocd controller/sync.go"
#   - "source: kubernetes staging/src/k8s.io/kubectl/pkg/cmd/replace/replace.go"
#   - "source: kubernetes staging/src/k8s.io/kubectl/pkg/cmd/apply/patcher.go"
#   - "source: kubernetes staging/src/k8s.io/kubectl/pkg/cmd/apply/apply.go"
#   severity: error
#   fix: "Remove the option. A run that shall be different is a new run with a name of its own; objects that are too big for client-side apply need ServerSideApply=true."
#   symptoms:
#   - A TrainJob is deleted and created again at every sync
#   - "error validating options: --force cannot be used with --server-side"
#   example: |
#     kind: TrainJob
#     metadata:
#       annotations: {argocd.argoproj.io/sync-options: "Force=true,Replace=true"}
package rules.argocd.no_force_or_replace

import data.lib
import data.lib.argocd

harmful := {
	"Force=true": "is deleted and started again where it differs",
	"Replace=true": "is refused where it differs, and loses what Kueue wrote into it where it waits",
}

report contains argocd.at(app, each.path, sprintf("%s deploys training with Replace=true: a TrainJob %s", [argocd.title(app), harmful["Replace=true"]])) if {
	some app in input.applications
	deploys_training(app)
	some each in argocd.options(app)
	each.option == "Replace=true"
}

report contains object.union(
	argocd.at(app, each.path, sprintf("%s has Force=true among its syncOptions, where Argo CD does not read it: nothing is forced", [argocd.title(app)])),
	{"severity": "warning", "fix": "Remove the option."},
) if {
	some app in input.applications
	deploys_training(app)
	some each in argocd.options(app)
	each.option == "Force=true"
}

# An operation that is written into the Application is carried out at once.
report contains lib.at(app.object, ["operation", "sync", "syncStrategy", strategy, "force"], sprintf("%s deploys training with an operation that forces: a TrainJob %s", [argocd.title(app), harmful["Force=true"]])) if {
	some app in input.applications
	deploys_training(app)
	some strategy in ["apply", "hook"]
	input.objects[app.object].operation.sync.syncStrategy[strategy].force == true
}

report contains lib.at(i, annotation, sprintf("%s has the sync option %s: it %s", [lib.title(manifest), option, harmful[option]])) if {
	some i, manifest in input.objects
	argocd.training(manifest)
	some option in asked(manifest)
	harmful[option]
	not refused(manifest, option)
}

report contains object.union(
	lib.at(i, annotation, sprintf("%s has the sync option Force=true and is applied server-side, where kubectl forces nothing: every sync of it fails", [lib.title(manifest)])),
	{"fix": "Remove Force=true."},
) if {
	some i, manifest in input.objects
	refused(manifest, "Force=true")
}

annotation := ["metadata", "annotations", argocd.sync_options]

asked(manifest) := {trim_space(option) | some option in split(manifest.metadata.annotations[argocd.sync_options], ",")}

# What is replaced is not applied, and Force then goes with Replace.
refused(manifest, "Force=true") if {
	"Force=true" in asked(manifest)
	not "Replace=true" in asked(manifest)
	not "ServerSideApply=false" in asked(manifest)
	server_side(manifest)
}

server_side(manifest) if "ServerSideApply=true" in asked(manifest)

server_side(manifest) if {
	some app in input.applications
	app.known
	argocd.has_option(app, "ServerSideApply=true")
	not argocd.has_option(app, "Replace=true")
	some each in app.deploys
	same(each, manifest)
}

same(one, other) if {
	lib.kind_id(one) == lib.kind_id(other)
	one.metadata.name == other.metadata.name
	object.get(one.metadata, "namespace", "") == object.get(other.metadata, "namespace", "")
}

deploys_training(app) if {
	some manifest in argocd.deployed(app)
	argocd.training(manifest)
}

deploys_training(app) if {
	not app.known
	not argocd.platform(app)
}
