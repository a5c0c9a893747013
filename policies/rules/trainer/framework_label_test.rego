package rules_test.trainer.framework_label

import data.rules.trainer.framework_label.report
import data.rules_test.fixture

path := ["metadata", "labels", "trainer.kubeflow.org/framework"]

with_framework(document, framework) := fixture.set(document, "/workloads/0", "framework", framework)

test_fail_absent if {
	message := "the runtime trains with TensorFlow and has no label trainer.kubeflow.org/framework: the SDK does not list it"
	every document in [fixture.trainjob, fixture.runtime] {
		report == {fixture.at(1, path, message)} with input as with_framework(document, "")
	}
}

test_fail_another if {
	message := "the label trainer.kubeflow.org/framework is torch, but the runtime trains with TensorFlow"
	report == {fixture.at(1, path, message)} with input as with_framework(fixture.trainjob, "torch")
}

test_fail_no_policy if {
	message := "the runtime has no mlPolicy: while it is there, Kubeflow's SDK fails to list any runtime"
	finding := object.union(fixture.at(1, ["spec", "mlPolicy"], message), {"severity": "info", "fix": "Write `mlPolicy: {numNodes: 1}` in the runtime."})
	report == {finding} with input as json.patch(fixture.trainjob, [{"op": "remove", "path": "/objects/1/spec/mlPolicy"}])
}

test_success_tensorflow if {
	report == set() with input as fixture.trainjob
}

test_success_not_tensorflow if {
	report == set() with input as fixture.torch
}

# Horovod trains with TensorFlow, in its own way.
test_success_own_word if {
	report == set() with input as with_framework(fixture.trainjob, "horovod")
}

test_success_jobset_has_no_runtime if {
	report == set() with input as fixture.jobset
}
