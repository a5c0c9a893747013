package rules_test.resources.requests_below_limits

import data.lib
import data.rules.resources.requests_below_limits
import data.rules_test.runs

having(value) := json.patch(runs.kueue, [runs.set(sprintf("%s/resources", [runs.node]), value)])

test_fail_above if {
	requests_below_limits.report == {lib.in_workload({"index": 0}, array.concat(runs.node_path, ["resources", "requests", "memory"]), "memory is requested as 512Gi, above its limit 256Gi: no pod can be made")} with input as having({"requests": {"memory": "512Gi"}, "limits": {"memory": "256Gi"}})
}

test_fail_init_container if {
	requests_below_limits.report == {lib.in_workload({"index": 0}, array.concat(runs.pod_path, ["initContainers", 0, "resources", "requests", "cpu"]), "cpu is requested as 2, above its limit 500m: no pod can be made")} with input as json.patch(runs.kueue, [runs.set(sprintf("%s/initContainers", [runs.pod]), [{
		"name": "fetch",
		"resources": {"requests": {"cpu": 2}, "limits": {"cpu": "500m"}},
	}])])
}

test_success_equal_amounts if {
	requests_below_limits.report == set() with input as having({"requests": {"cpu": "2000m", "memory": "2048Mi"}, "limits": {"cpu": 2, "memory": "2Gi"}})
}

test_success_no_limit if requests_below_limits.report == set() with input as having({"requests": {"cpu": "64"}, "limits": {"memory": "1Gi"}})
