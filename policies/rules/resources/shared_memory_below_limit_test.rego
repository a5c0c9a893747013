package rules_test.resources.shared_memory_below_limit

import data.lib
import data.rules.resources.shared_memory_below_limit
import data.rules_test.runs

volume := sprintf("%s/volumes/0/emptyDir", [runs.pod])

of(size) := json.patch(runs.kueue, [runs.set(volume, {"medium": "Memory", "sizeLimit": size})])

found(size) := {lib.in_workload({"index": 0}, array.concat(runs.pod_path, ["volumes", 0, "emptyDir", "sizeLimit"]), sprintf("sizeLimit of the shared memory is %s and the container's memory limit 512Gi: full shared memory gets the worker killed", [size]))}

test_fail_above if shared_memory_below_limit.report == found("600Gi") with input as of("600Gi")

test_fail_equal if shared_memory_below_limit.report == found("524288Mi") with input as of("524288Mi")

test_success_below if shared_memory_below_limit.report == set() with input as runs.kueue

test_success_on_disk if shared_memory_below_limit.report == set() with input as json.patch(runs.kueue, [runs.set(volume, {"sizeLimit": "600Gi"})])

test_success_no_limit if shared_memory_below_limit.report == set() with input as json.patch(of("600Gi"), [runs.drop(sprintf("%s/resources/limits/memory", [runs.node]))])
