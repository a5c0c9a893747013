package rules_test.queue.namespace_selected

import data.rules.queue.namespace_selected
import data.rules_test.runs

selector := "/objects/3/spec/namespaceSelector"

found(message) := {{"object": 3, "path": ["spec", "namespaceSelector"], "message": message}}

selecting(value) := json.patch(runs.kueue, [runs.set(selector, value)])

expression(key, operator, values) := selecting({"matchExpressions": [{"key": key, "operator": operator, "values": values}]})

refused(why) := found(sprintf("namespaceSelector does not select namespace survey (%s): nothing in its LocalQueue day is ever admitted", [why]))

none := found("namespaceSelector is not set and selects no namespace: nothing in LocalQueue survey/day is ever admitted")

test_fail_absent if namespace_selected.report == none with input as json.patch(runs.kueue, [runs.drop(selector)])

test_fail_null if namespace_selected.report == none with input as selecting(null)

test_fail_other_label if namespace_selected.report == refused("team must be sea") with input as selecting({"matchLabels": {"team": "sea"}})

test_fail_label_that_is_not_there if namespace_selected.report == refused("gpu must be yes") with input as selecting({"matchLabels": {"gpu": "yes"}})

test_fail_other_name if {
	namespace_selected.report == refused("kubernetes.io/metadata.name must be surveys") with input as json.patch(selecting({"matchLabels": {"kubernetes.io/metadata.name": "surveys"}}), [runs.drop("/objects/5")])
}

test_fail_expressions if {
	namespace_selected.report == refused("team In sea,land") with input as expression("team", "In", ["sea", "land"])
	namespace_selected.report == refused("team NotIn sky") with input as expression("team", "NotIn", ["sky"])
	namespace_selected.report == refused("gpu Exists ") with input as expression("gpu", "Exists", [])
	namespace_selected.report == refused("team DoesNotExist ") with input as expression("team", "DoesNotExist", [])
}

test_success_expressions if {
	namespace_selected.report == set() with input as expression("team", "In", ["sea", "sky"])
	namespace_selected.report == set() with input as expression("gpu", "NotIn", ["no"])
	namespace_selected.report == set() with input as expression("team", "Exists", [])
	namespace_selected.report == set() with input as expression("gpu", "DoesNotExist", [])
}

test_success_all if namespace_selected.report == set() with input as selecting({})

test_success_by_name if namespace_selected.report == set() with input as runs.kueue

test_success_labels_unknown if {
	namespace_selected.report == set() with input as json.patch(selecting({"matchLabels": {"team": "sea"}}), [runs.drop("/objects/5")])
}

# A queue that only lends to its cohort.
test_success_no_local_queue if {
	namespace_selected.report == set() with input as json.patch(runs.kueue, [runs.drop(selector), runs.drop("/objects/2")])
}
