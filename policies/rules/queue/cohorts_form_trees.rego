# METADATA
# title: Cohorts form trees
# description: |
#   Where a Cohort is its own ancestor Kueue leaves out the whole circle with all ClusterQueues below it: nothing that is
#   sent to them is admitted, not even within their own quota. Their status says that they are not active, but not why.
# related_resources:
# - ref: https://kueue.sigs.k8s.io/docs/concepts/cohort/
# - ref: https://github.com/kubernetes-sigs/kueue/blob/v0.17.0/pkg/cache/scheduler/snapshot.go
# custom:
#   severity: error
#   needs: cluster
#   seen:
#   - "source: kueue pkg/cache/scheduler/snapshot.go"
#   - "lab: tests/lab/test_queues.py::test_runs_that_are_never_admitted"
#   fix: "Take parentName out of the Cohort that shall be the root."
#   example: |
#     kind: Cohort
#     metadata: {name: research}
#     spec: {parentName: company}
#     ---
#     kind: Cohort
#     metadata: {name: company}
#     spec: {parentName: research}
package rules.queue.cohorts_form_trees

import data.lib
import data.lib.quota

report contains lib.at(i, ["spec", quota.parent_field(cohort)], message) if {
	some i, cohort in lib.objects("kueue.x-k8s.io", "Cohort")
	name := cohort.metadata.name
	name in graph.reachable(quota.up, {quota.parent(cohort)})
	queues := [q.metadata.name |
		some q in lib.objects("kueue.x-k8s.io", "ClusterQueue")
		name in graph.reachable(quota.up, {quota.cohort(q)})
	]
	message := sprintf("Cohort %s is its own ancestor (its parent is %s): Kueue admits nothing in the ClusterQueues below it (%s)", [name, quota.parent(cohort), lib.joined(queues)])
}
