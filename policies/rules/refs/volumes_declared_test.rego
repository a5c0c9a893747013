package rules_test.refs.volumes_declared

import data.rules.refs.volumes_declared.report
import data.rules_test.fixture

mounting(document, list, name) := fixture.with_container(document, list, [{"name": name}])

finding(list, name, there, severity) := object.union(
	fixture.in_workload(fixture.container_path([list, 0, "name"]), sprintf("the container node mounts the volume %s, and the pod has no such volume (it has: %s): no pod can be made", [name, there])),
	{"severity": severity},
)

with_volumes(document, names) := fixture.with_pod(document, "volumes", [{"name": name, "emptyDir": {}} | some name in names])

test_fail_renamed if {
	report == {finding("volumeMounts", "shm", "dshm, scratch", "error")} with input as with_volumes(mounting(fixture.trainjob, "volumeMounts", "shm"), ["scratch", "dshm"])
}

test_fail_no_volumes if {
	report == {finding("volumeMounts", "shm", "none", "error")} with input as with_volumes(mounting(fixture.trainjob, "volumeMounts", "shm"), [])
}

test_fail_device if {
	report == {finding("volumeDevices", "disk", "shm", "error")} with input as with_volumes(mounting(fixture.jobset, "volumeDevices", "disk"), ["shm"])
}

# A TrainJob may bring the volume.
test_fail_runtime_alone if {
	report == {finding("volumeMounts", "code", "shm", "warning")} with input as with_volumes(mounting(fixture.runtime, "volumeMounts", "code"), ["shm"])
}

test_success_declared if {
	report == set() with input as with_volumes(mounting(fixture.trainjob, "volumeMounts", "shm"), ["data", "shm"])
}

test_success_claim_of_the_jobset if {
	report == set() with input as json.patch(
		with_volumes(mounting(fixture.jobset, "volumeMounts", "data"), []),
		[{"op": "add", "path": "/workloads/0/jobset/spec/volumeClaimPolicies", "value": [{"templates": [{"metadata": {"name": "data"}}]}]}],
	)
}
