package rules_test.queue.cohorts_form_trees

import data.lib
import data.rules.queue.cohorts_form_trees
import data.rules_test.runs

cohort(name, spec) := runs.set("/objects/-", {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Cohort", "metadata": {"name": name}, "spec": spec})

member := runs.set("/objects/3/spec/cohortName", "a")

found(i, name, parent) := lib.at(i, ["spec", "parentName"], sprintf("Cohort %s is its own ancestor (its parent is %s): Kueue admits nothing in the ClusterQueues below it (survey)", [name, parent]))

test_fail_circle if {
	cohorts_form_trees.report == {found(6, "a", "b"), found(7, "b", "a")} with input as json.patch(runs.kueue, [member, cohort("a", {"parentName": "b"}), cohort("b", {"parentName": "a"})])
}

test_fail_itself if {
	cohorts_form_trees.report == {found(6, "a", "a")} with input as json.patch(runs.kueue, [member, cohort("a", {"parentName": "a"})])
}

test_success_tree if {
	cohorts_form_trees.report == set() with input as json.patch(runs.kueue, [member, cohort("a", {"parentName": "b"}), cohort("b", {}), cohort("c", {"parentName": "b"})])
}

test_success_parent_not_in_the_input if {
	cohorts_form_trees.report == set() with input as json.patch(runs.kueue, [member, cohort("a", {"parentName": "b"})])
}
