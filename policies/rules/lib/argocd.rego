# METADATA
# title: Applications, what they deploy and what their projects allow
# description: |
#   input.applications holds a view of each Application, and of each that an ApplicationSet makes as far as that can be
#   told: its spec, its sources and the objects of this repository that they deploy (`known`: these are all of them).
package lib.argocd

import data.lib

group := "argoproj.io"

sync_options := "argocd.argoproj.io/sync-options"

# A finding at a field of an Application's spec.
at(app, path, message) := lib.at(app.object, array.concat(app.path, path), message)

# What an Application is called in messages.
title(app) := sprintf("Application %s", [app.name])

templated(text) if contains(text, "{{")

namespace(app) := object.get(app.spec, ["destination", "namespace"], "")

# Its sync options and where each stands.
options(app) := [{"path": ["syncPolicy", "syncOptions", i], "option": trim_space(option)} |
	some i, option in app.spec.syncPolicy.syncOptions
]

has_option(app, option) if {
	some each in options(app)
	each.option == option
}

# --- the platform -------------------------------------------------------------------------------------------------

upstream := {
	"github.com/kubeflow/trainer": "trainer",
	"github.com/kubernetes-sigs/kueue": "kueue",
	"github.com/kubernetes-sigs/jobset": "jobset",
	"github.com/volcano-sh/volcano": "volcano",
}

charts := {"kubeflow-trainer": "trainer", "kueue": "kueue", "jobset": "jobset", "volcano": "volcano"}

# The component that a source installs: by upstream's repository, or by its chart.
installs(source) := charts[chart(source)]

installs(source) := upstream[trim_prefix(repository(source.repoURL), "https://")] if not chart(source)

# The chart of a source: by its name in a repository of charts, or an OCI image of its own.
chart(source) := source.chart

chart(source) := regex.find_all_string_submatch_n(`^oci://.*/([^/:@]+)/?$`, source.repoURL, 1)[0][1] if not source.chart

# A value that an Application gives a chart, as far as it stands in the Application; undefined where it does not.
helm_value(source, path) := given[count(given) - 1] if {
	given := [_literal(parameter.value) | some parameter in source.helm.parameters; parameter.name == concat(".", path)]
	count(given) > 0
} else := object.get(_values(source.helm), path, null)

_literal(text) := {"true": true, "false": false}[text]

_literal(text) := text if not text in {"true", "false"}

_values(helm) := helm.valuesObject

_values(helm) := values if {
	not helm.valuesObject
	yaml.is_valid(helm.values)
	values := yaml.unmarshal(helm.values)
	is_object(values)
}

# --- training ---------------------------------------------------------------------------------------------------

job(manifest) if {
	manifest.kind in {"TrainJob", "JobSet"}
	lib.api_group(manifest) in {"trainer.kubeflow.org", "jobset.x-k8s.io"}
}

training(manifest) if job(manifest)

training(manifest) if {
	manifest.kind in {"TrainingRuntime", "ClusterTrainingRuntime"}
	lib.api_group(manifest) == "trainer.kubeflow.org"
}

# The objects that an Application deploys: those of its folders; where these are elsewhere, the jobs that the target has
# in its namespace.
deployed(app) := app.deploys if app.known

deployed(app) := array.concat(app.deploys, [manifest |
	namespace(app) != ""
	some manifest in input.objects
	job(manifest)
	object.get(manifest.metadata, "namespace", "") == namespace(app)
]) if {
	not app.known
}

# Where what it deploys is elsewhere, the words that the platform's own are called by.
platform(app) if {
	some source in app.sources
	source.spec.chart
}

platform(app) if {
	regex.match(`(^|[^a-z])(access|addons?|apps?|applications?|argo-?cd|bootstrap|cert|common|configs?|controllers?|crds?|gpu-operator|infra|istio|jobset|kueue|monitoring|namespaces?|networks?|operators?|platform|policies|prometheus|queues?|quotas?|rbac|root|runtimes?|secrets?|storage|system|trainer|training-operator|volcano)([^a-z]|$)`, words(app))
	not folder_of_runs(app)
}

folder_of_runs(app) if {
	some source in app.sources
	regex.match(`(^|/)(experiments?|runs?|trainjobs?)(/|$)`, source.spec.path)
}

words(app) := lower(concat(" ", array.concat(
	[app.name, namespace(app)],
	[object.get(source.spec, "path", "") | some source in app.sources],
)))

# Whether runs are queued by Kueue in the Application's namespace.
queued_namespace(app) if {
	some queue in lib.objects("kueue.x-k8s.io", "LocalQueue")
	object.get(queue.metadata, "namespace", "") == namespace(app)
}

queued_namespace(app) if {
	some external in input.cluster.external
	external.kind == "LocalQueue"
	external.namespace == namespace(app)
}

called_training(app) if regex.match(`(^|[^a-z])(experiments?|jobs?|runs?|train|trainings?|trainjobs?)([^a-z]|$)`, sprintf("%s %s", [words(app), lower(object.get(app.spec, "project", ""))]))

called_training(app) if queued_namespace(app)

called_training(app) if {
	some entry in app.spec.ignoreDifferences
	entry.kind == "TrainJob"
}

called_training(app) if {
	some item in project(app).spec.namespaceResourceWhitelist
	item.kind == "TrainJob"
}

# Whether an Application deploys jobs: as is seen, or as it is called.
trains(app) if {
	some manifest in deployed(app)
	job(manifest)
}

trains(app) if {
	not app.known
	not platform(app)
	called_training(app)
}

# --- projects ---------------------------------------------------------------------------------------------------

# The project of an Application, where the input holds it.
project(app) := found[0] if {
	found := [manifest | some manifest in lib.objects_named(group, "AppProject", app.spec.project)]
	count(found) > 0
}

denies(pattern) if startswith(pattern, "!")

# Patterns as Argo CD reads them; `*` alone is everything.
matches(pattern, _, _) if pattern == "*"

matches(pattern, value, delimiters) if {
	not denies(pattern)
	glob.match(pattern, delimiters, value)
}

matches(pattern, value, delimiters) if {
	denies(pattern)
	not glob.match(substring(pattern, 1, -1), delimiters, value)
}

# A repository's URL as Argo CD compares it.
repository(url) := trim_suffix(trim_prefix(lower(trim_space(url)), "ssh://"), ".git")

source_permitted(app_project, url) if {
	patterns := [normal(pattern) | some pattern in app_project.spec.sourceRepos]
	some pattern in patterns
	matches(pattern, repository(url), ["/"])
	every each in patterns { source_not_denied(each, url) }
}

source_not_denied(pattern, _) if not denies(pattern)

source_not_denied(pattern, url) if matches(pattern, repository(url), ["/"])

normal(pattern) := repository(pattern) if not denies(pattern)

normal(pattern) := sprintf("!%s", [repository(substring(pattern, 1, -1))]) if denies(pattern)

# The cluster that Argo CD runs in has both a name and an address; of any other a destination tells only one of them.
local_server := "https://kubernetes.default.svc"

cluster_name(destination) := destination.name

cluster_name(destination) := "in-cluster" if {
	not destination.name
	destination.server == local_server
}

cluster_server(destination) := destination.server

cluster_server(destination) := local_server if {
	not destination.server
	destination.name == "in-cluster"
}

# Undefined only where the project certainly refuses the destination.
destination_permitted(app_project, destination, name) if {
	some item in app_project.spec.destinations
	matches(object.get(item, "namespace", ""), name, null)
	cluster_may_match(item, destination)
	every each in app_project.spec.destinations { destination_not_denied(each, destination, name) }
}

cluster_may_match(item, destination) if matches(item.server, cluster_server(destination), null)

cluster_may_match(item, destination) if matches(item.name, cluster_name(destination), null)

cluster_may_match(item, destination) if {
	item.server
	not cluster_server(destination)
}

cluster_may_match(item, destination) if {
	item.name
	not cluster_name(destination)
}

destination_not_denied(item, destination, name) if not destination_denied(item, destination, name)

destination_denied(item, destination, name) if {
	denies(item.namespace)
	not matches(item.namespace, name, null)
	matches(item.server, cluster_server(destination), null)
}

destination_denied(item, destination, name) if {
	denies(item.server)
	not matches(item.server, cluster_server(destination), null)
	matches(object.get(item, "namespace", ""), name, null)
}

destination_denied(item, destination, _) if {
	denies(item.name)
	not matches(item.name, cluster_name(destination), null)
}

# Whether a kind is permitted; of a kind whose scope is not known nothing is said.
kind_permitted(app_project, manifest) if not kind_refused(app_project, manifest)

kind_refused(app_project, manifest) if {
	lib.kind_id(manifest) in input.cluster_scoped
	not listed(manifest, object.get(app_project.spec, "clusterResourceWhitelist", []))
}

kind_refused(app_project, manifest) if {
	lib.kind_id(manifest) in input.cluster_scoped
	listed(manifest, object.get(app_project.spec, "clusterResourceBlacklist", []))
}

kind_refused(app_project, manifest) if {
	lib.kind_id(manifest) in input.namespaced
	list := app_project.spec.namespaceResourceWhitelist
	not listed(manifest, list)
}

kind_refused(app_project, manifest) if {
	lib.kind_id(manifest) in input.namespaced
	listed(manifest, object.get(app_project.spec, "namespaceResourceBlacklist", []))
}

listed(manifest, list) if {
	some item in list
	matches(item.kind, manifest.kind, ["/"])
	matches(item.group, lib.api_group(manifest), ["/"])
}
