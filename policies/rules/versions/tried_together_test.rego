package rules_test.versions.tried_together

import data.rules.versions.tried_together as rule

judged(versions) := found if {
	found := rule.report with input as {"cluster": {"versions": versions}}
}

said(component, message) := {"facts": true, "path": ["versions", component], "message": message}

test_fail if {
	judged({"trainer": "2.3.0", "jobset": "0.11.1"}) == {said("jobset", "trainer 2.3 is tried with jobset 0.12, and not with 0.11 (go.mod)")}
	judged({"kubernetes": "1.34", "trainer": "2.2.1", "jobset": "0.11.1", "kueue": "0.16.1"}) == {
		said("trainer", "kueue 0.16 is tried with trainer 2.1, and not with 2.2 (go.mod)"),
		said("jobset", "kueue 0.16 is tried with jobset 0.10, and not with 0.11 (go.mod)"),
	}
}

test_success_upstream if judged({"kubernetes": "1.34", "trainer": "2.2.1", "jobset": "0.11.1", "kueue": "0.17.0"}) == set()

# What only the lab runs together: Kueue 0.17 is built with Trainer 2.2.
test_success_lab if {
	judged({"kubernetes": "1.35", "trainer": "2.3.0", "jobset": "0.12.0", "kueue": "0.17.0", "volcano": "1.14.1", "argocd": "3.2.6"}) == set()
}

test_success_not_given if {
	judged({}) == set()
	judged({"trainer": "2.3.0"}) == set()
}
