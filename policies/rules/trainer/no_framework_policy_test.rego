package rules_test.trainer.no_framework_policy

import data.rules.trainer.no_framework_policy.report
import data.rules_test.fixture

with_policy(document, policy) := fixture.set(document, "/workloads/0", "mlPolicy", {"numNodes": 2, policy: {}})

finding(policy) := object.union(
	fixture.at(
		1,
		["spec", "mlPolicy", policy],
		sprintf("mlPolicy.%s is another framework's policy: Trainer gives the pods what that one needs, and nothing of it is TensorFlow's", [policy]),
	),
	{"severity": "warning"},
)

test_fail_any if {
	every policy in ["torch", "mpi", "jax", "xgboost"] {
		report == {finding(policy)} with input as with_policy(fixture.trainjob, policy)
	}
}

test_fail_flux if {
	message := "mlPolicy.flux is another framework's policy: Flux starts the command from the first pod, and the others never fail"
	report == {fixture.at(1, ["spec", "mlPolicy", "flux"], message)} with input as with_policy(fixture.trainjob, "flux")
}

test_fail_runtime_alone if {
	report == {finding("torch")} with input as with_policy(fixture.runtime, "torch")
}

test_fail_without_label if {
	report == {finding("mpi")} with input as fixture.set(with_policy(fixture.trainjob, "mpi"), "/workloads/0", "framework", "")
}

test_success_plain if {
	report == set() with input as fixture.trainjob
}

test_success_not_tensorflow if {
	report == set() with input as with_policy(fixture.torch, "torch")
}

test_success_horovod if {
	document := fixture.set(with_policy(fixture.trainjob, "mpi"), "/workloads/0", "framework", "horovod")
	report == set() with input as document
}
