# METADATA
# title: A flavor of the queue takes the pods of a run
# description: |
#   Before it looks at quotas Kueue holds a run's pods against each flavor of its ClusterQueue: the flavor's nodeTaints must
#   be tolerated by the pods or by the flavor, and nodeSelector and required node affinity must match its nodeLabels (of the
#   keys that the flavors of the group have). A run that no flavor takes is never admitted.
# related_resources:
# - ref: https://github.com/kubernetes-sigs/kueue/blob/v0.17.0/pkg/scheduler/flavorassigner/flavorassigner.go
# - ref: https://kueue.sigs.k8s.io/docs/concepts/resource_flavor/
# custom:
#   symptoms:
#   - "flavor … doesn't match node affinity"
#   - "untolerated taint … in flavor"
#   severity: error
#   needs: cluster
#   seen:
#   - "lab: tests/lab/test_queues.py::test_runs_that_are_never_admitted"
#   - "source: kueue pkg/scheduler/flavorassigner/flavorassigner.go"
#   - "source: kueue pkg/scheduler/flavorassigner/tas_flavorassigner.go"
#   fix: "Ask in nodeSelector for what a flavor of the queue has in nodeLabels, tolerate the flavor's taints, or leave both to Kueue, which adds them."
#   example: |
#     kind: ResourceFlavor
#     metadata: {name: h100}
#     spec: {nodeLabels: {gpu: h100}}  # the only flavor, and the run's pods have nodeSelector {gpu: a100}
package rules.queue.flavor_takes_pods

import data.lib
import data.lib.pools
import data.lib.queueing

report contains lib.in_workload(w, lib.pod_path(g, pools.place(g)), message) if {
	some w in queueing.runs
	queue := queueing.cluster_queue(w)
	count(pools.flavors(w)) > 0
	some pod in w.pods
	pod.count > 0
	g := {"workload": w, "pod": pod}
	some group in queue.spec.resourceGroups
	some resource in group.coveredResources
	pod.requests[resource] > 0
	refusals := [sprintf("%s: %s", [flavor.name, concat(", ", sort(reasons(g, group, flavor.name)))]) | some flavor in group.flavors]
	every flavor in group.flavors { count(reasons(g, group, flavor.name)) > 0 }
	message := sprintf("no flavor of ClusterQueue %s takes the pods of %s (%s): the run is never admitted", [queue.metadata.name, pod.name, concat("; ", refusals)])
}

reasons(g, group, name) := (untolerated(g, name) | mismatched(g, group, name)) | only_topology(g, name)

flavor(g, name) := [f | some f in pools.flavors(g.workload); f.metadata.name == name][0]

untolerated(g, name) := {sprintf("its taint %s is not tolerated", [pools.taint_text(taint)]) |
	some taint in flavor(g, name).spec.nodeTaints
	taint.effect in {"NoSchedule", "NoExecute"}
	not pools.tolerated(g, object.get(flavor(g, name).spec, "tolerations", []), taint)
}

# The labels that any flavor of the group has; Kueue looks at no others.
keys(g, group) := {key | some f in group.flavors; some key, _ in flavor(g, f.name).spec.nodeLabels}

mismatched(g, group, name) := union({
	{sprintf("%s is %s, and %s is asked for", [key, object.get(labels, key, "not there"), value]) |
		some key, value in lib.pod_spec(g).nodeSelector
		key in keys(g, group)
		object.get(labels, key, null) != value
	},
	{"its labels match no term of the required node affinity" |
		terms := lib.pod_spec(g).affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms
		every term in terms { fails(term, labels, keys(g, group)) }
	},
}) if {
	labels := object.get(flavor(g, name).spec, "nodeLabels", {})
}

fails(term, labels, allowed) if {
	some e in term.matchExpressions
	e.key in allowed
	lib.unmet(e, object.get(labels, e.key, null))
}

# A flavor with a topology takes only pods that ask for one, unless all flavors of the queue have one.
only_topology(g, name) := {"it takes only pods with a topology request" |
	flavor(g, name).spec.topologyName
	not queueing.asks_for_topology(g)
	some other in pools.flavors(g.workload)
	not other.spec.topologyName
}
