package rules_test.trainer.num_nodes

import data.rules.trainer.num_nodes.report
import data.rules_test.fixture

nodes(number) := fixture.with_trainjob(fixture.trainjob, "spec/trainer/numNodes", number)

found(message) := {fixture.at(0, ["spec", "trainer", "numNodes"], message)}

test_fail_none if {
	report == found("numNodes is 0: the run has no pods and is Complete at once, with nothing trained") with input as nodes(0)
}

test_fail_negative if report == found("numNodes is -1: no Job can be made, and the run waits for ever") with input as nodes(-1)

test_success if {
	report == set() with input as nodes(1)
	report == set() with input as fixture.with_trainjob(fixture.trainjob, "spec/trainer", {})
}
