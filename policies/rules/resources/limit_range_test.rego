package rules_test.resources.limit_range

import data.lib
import data.rules.resources.limit_range.report
import data.rules_test.runs

limited(item) := json.patch(runs.kueue, [runs.set("/objects/-", {
	"apiVersion": "v1",
	"kind": "LimitRange",
	"metadata": {"name": "small", "namespace": "survey"},
	"spec": {"limits": [item]},
})])

found(path, message) := {lib.in_workload({"index": 0}, array.concat(["spec", "replicatedJobs", 0, "template", "spec", "template", "spec"], path), message)}

container(side, resource, text) := found(["containers", 0, "resources", side, resource], sprintf("container node has %s: no pod is made", [text]))

test_fail_container if {
	report == container("limits", "memory", "512Gi memory, and LimitRange small of namespace survey allows at most 64Gi") with input as limited({"type": "Container", "max": {"memory": "64Gi"}})
	report == container("limits", "nvidia.com/gpu", "8 nvidia.com/gpu, and LimitRange small of namespace survey allows at most 4") with input as limited({"type": "Container", "max": {"nvidia.com/gpu": 4}})
	report == container("limits", "cpu", "80 cpu, and LimitRange small of namespace survey allows at least 90") with input as limited({"type": "Container", "min": {"cpu": "90"}})
}

less := json.patch(limited({"type": "Container", "min": {"cpu": "50"}, "maxLimitRequestRatio": {"cpu": "3"}}), [runs.set(sprintf("%s/containers/0/resources/requests/cpu", [runs.pod]), "20")])

test_fail_request_and_ratio if {
	report == container("requests", "cpu", "20 cpu, and LimitRange small of namespace survey allows at least 50") | container("limits", "cpu", "a limit of 4 times its request of cpu, and LimitRange small of namespace survey allows 3") with input as less
}

test_success_container if {
	report == set() with input as limited({"type": "Container", "max": {"memory": "512Gi", "cpu": "80"}, "min": {"cpu": "80"}, "maxLimitRequestRatio": {"cpu": "1"}})
	report == set() with input as limited({"type": "Container", "max": {"ephemeral-storage": "1Gi"}, "min": {"ephemeral-storage": "1Mi"}})
	report == set() with input as limited({"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}})
	report == set() with input as json.patch(limited({"type": "Container", "max": {"memory": "64Gi"}}), [runs.set("/objects/6/metadata/namespace", "sea")])
}

test_fail_pod if {
	report == found(["containers", 0, "resources", "requests", "memory"], "a pod has 512Gi memory, and LimitRange small of namespace survey allows at most 500Gi: no pod is made") with input as limited({"type": "Pod", "max": {"memory": "500Gi"}})
	report == found(["containers", 0, "resources", "requests", "cpu"], "a pod has 80 cpu, and LimitRange small of namespace survey allows at least 81: no pod is made") with input as limited({"type": "Pod", "min": {"cpu": "81"}})
}

test_success_pod if {
	report == set() with input as limited({"type": "Pod", "max": {"memory": "512Gi"}, "min": {"cpu": "80"}})
	report == set() with input as json.patch(limited({"type": "Pod", "max": {"memory": "500Gi"}}), [runs.set(sprintf("%s/overhead", [runs.pod]), {"memory": "20Gi"})])
	report == set() with input as json.patch(limited({"type": "Pod", "min": {"cpu": "81"}}), [runs.set("/objects/6/spec/limits/-", {"type": "Container", "defaultRequest": {"cpu": "1"}})])
}
