package rules_test.argocd.path_exists

import data.lib
import data.rules.argocd.path_exists.report
import data.rules_test.applications

test_fail_missing if {
	report == {lib.at(0, ["spec", "source", "path"], "Application owls: the path runs/owls does not exist in this repository")} with input as applications.with_view("sources/0/fault", "does not exist in this repository")
}

test_fail_generator if {
	path := ["spec", "generators", 0, "git", "directories", 0, "path"]
	report == {lib.at(0, path, "Application/owls looks for folders in rnus/*, which do not exist in this repository")} with input as applications.with_view("generators", [{"path": path, "pattern": "rnus/*"}])
}

test_success_there if report == set() with input as applications.document
