package rules_test.argocd.path_exists

import data.lib
import data.rules.argocd.path_exists.report
import data.rules_test.applications

test_fail_missing if {
	report == {lib.at(0, ["spec", "source", "path"], "Application owls: the path runs/owls does not exist in this repository")} with input as applications.with_view("sources/0/fault", "does not exist in this repository")
}

test_success_there if report == set() with input as applications.document
