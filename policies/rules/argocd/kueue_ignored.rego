# METADATA
# title: Argo CD leaves alone what Kueue writes into a TrainJob
# description: |
#   Kueue admits a run by setting spec.suspend and by an entry of its own in spec.runtimePatches, which is there from the
#   start. An Application that applies client-side writes that list as Git has it: it is OutOfSync at once, a sync takes the
#   entry from a run that waits, which then holds its quota and never starts, and is refused where the run was admitted. An
#   Application with ServerSideApply=true compares and writes only what Git has. spec.suspend matters where Git has it: a
#   sync then suspends what Kueue started, or starts what it holds. ignoreDifferences alone only hides the difference: a
#   sync still writes without RespectIgnoreDifferences.
# related_resources:
# - ref: https://argo-cd.readthedocs.io/en/stable/user-guide/diffing/
#   description: ignoreDifferences
# - ref: https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/#respect-ignore-difference-configs
#   description: RespectIgnoreDifferences
# - ref: https://kueue.sigs.k8s.io/docs/tasks/run/trainjobs/
#   description: TrainJobs in Kueue
# custom:
#   seen:
#   - "lab: tests/lab/test_argocd_claims.py::test_a_sync_takes_from_a_run_what_kueue_wrote_and_argo_cd_does_not_leave_alone"
#   - "lab: tests/lab/test_argocd_claims.py::test_the_gate_refuses_what_takes_from_a_run_what_kueue_wrote"
#   - "lab: tests/lab/test_argocd.py::test_a_pushed_run_trains_and_comes_to_rest"
#   - "source: kueue pkg/controller/jobs/trainjob/trainjob_controller.go"
#   - "source: kueue pkg/controller/jobs/trainjob/trainjob_webhook.go"
#   - "source: trainer pkg/runtime/framework/plugins/jobset/jobset.go"
#   - "source: argocd controller/sync.go"
#   severity: error
#   needs: cluster
#   fix: "Apply server-side, without spec.suspend in Git; or ignore what Kueue writes into a TrainJob (group trainer.kubeflow.org) under ignoreDifferences, its entry and the times in runtimePatches, and add RespectIgnoreDifferences=true to syncOptions."
#   symptoms:
#   - An application is OutOfSync as soon as its TrainJob is made
#   - "spec.runtimePatches: Forbidden: RuntimePatches can only be modified when the TrainJob is suspended before or after the update"
#   - A TrainJob is suspended again after Kueue has admitted it
#   - A TrainJob stays suspended although its Workload is admitted
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

report contains argocd.at(app, ["ignoreDifferences"], sprintf("%s deploys TrainJobs that Kueue queues and does not ignore %s: %s", [argocd.title(app), field, fields[field].harm])) if {
	some app in input.applications
	some field in written(app)
	not ignored(app, fields[field].names)
}

report contains argocd.at(app, ["syncPolicy", "syncOptions"], sprintf("%s ignores what Kueue writes into TrainJobs but lacks RespectIgnoreDifferences=true: a sync still writes it", [argocd.title(app)])) if {
	some app in input.applications
	count(written(app)) > 0
	every field in written(app) { ignored(app, fields[field].names) }
	not argocd.has_option(app, "RespectIgnoreDifferences=true")
}

# What Kueue writes, what that is called in the versions of Trainer, and what comes of a sync that writes it.
fields := {
	"spec.suspend": {"names": {"suspend"}, "harm": "a sync suspends a run that Kueue started, or starts one that it holds"},
	"Kueue's spec.runtimePatches": {
		"names": {"runtimePatches", "podTemplateOverrides", "podSpecOverrides"},
		"harm": "a sync takes them from a run that waits, which then never starts, and fails where it was admitted",
	},
}

# The fields that a sync of an Application writes into runs that Kueue queues.
written(app) := {field |
	not patched(app)
	some manifest in argocd.deployed(app)
	manifest.kind == "TrainJob"
	queueing.labelled(manifest)
	some field, each in fields
	writes(app, manifest, each.names)
} | {"Kueue's spec.runtimePatches" |
	app in unseen
	not server_side(app, {"metadata": {}})
} if {
	lib.has_kueue
}

# Client-side the whole list is Git's.
writes(app, manifest, names) if {
	"runtimePatches" in names
	not server_side(app, manifest)
}

writes(app, manifest, names) if {
	"Replace=true" in options(app, manifest)
	names
}

writes(_, manifest, names) if {
	some name in (names - {"runtimePatches"})
	name in object.keys(object.get(manifest, "spec", {}))
}

writes(_, manifest, names) if {
	"runtimePatches" in names
	some patch in manifest.spec.runtimePatches
	startswith(patch.manager, "kueue.x-k8s.io/")
}

server_side(app, manifest) if {
	asked := options(app, manifest)
	"ServerSideApply=true" in asked
	count(asked & {"ServerSideApply=false", "Replace=true"}) == 0
}

options(app, manifest) := {each.option | some each in argocd.options(app)} | {trim_space(option) |
	some option in split(object.get(manifest.metadata, ["annotations", argocd.sync_options], ""), ",")
}

# Applications of runs that are in another repository.
unseen contains app if {
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
