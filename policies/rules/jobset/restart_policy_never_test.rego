package rules_test.jobset.restart_policy_never

import data.rules.jobset.restart_policy_never.report
import data.rules_test.fixture

on_failure := "restartPolicy is OnFailure: a failed worker restarts alone and the others hang"

test_fail_on_failure if {
	every document in [fixture.trainjob, fixture.jobset, fixture.runtime] {
		report == {fixture.in_workload(fixture.pod_path(["restartPolicy"]), on_failure)} with input as fixture.with_pod(
			document,
			"restartPolicy", "OnFailure",
		)
	}
}

test_fail_absent if {
	report == {fixture.in_workload(
		fixture.pod_path(["restartPolicy"]),
		"restartPolicy is not set and JobSet's default is OnFailure: a failed worker restarts alone and the others hang",
	)} with input as fixture.with_pod(fixture.trainjob, "restartPolicy", null)
}

test_fail_container if {
	report == {fixture.in_workload(fixture.container_path(["restartPolicy"]), on_failure)} with input as fixture.with_container(
		fixture.trainjob,
		"restartPolicy", "OnFailure",
	)
}

test_fail_container_rule if {
	rules := [{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}]
	report == {fixture.in_workload(
		fixture.container_path(["restartPolicyRules", 0, "action"]),
		"a restartPolicyRule restarts the container: a failed worker restarts alone and the others hang",
	)} with input as fixture.with_container(fixture.trainjob, "restartPolicyRules", rules)
}

test_success_never if {
	report == set() with input as fixture.trainjob
	report == set() with input as fixture.with_container(fixture.trainjob, "restartPolicy", "Never")
}

test_success_sidecar if {
	sidecar := [{"name": "logs", "image": "registry.example/logs:1", "restartPolicy": "Always"}]
	report == set() with input as fixture.with_pod(fixture.trainjob, "initContainers", sidecar)
}

test_success_no_gang if {
	every document in [fixture.single, fixture.torch] {
		report == set() with input as fixture.with_pod(document, "restartPolicy", null)
	}
}
