# METADATA
# title: The API server lets runs bring what cluster.yaml says
# description: |
#   A ValidatingAdmissionPolicy stands in for the gate where somebody goes past Git. Kustomize cannot read cluster.yaml, so
#   the lists of what runs may bring stand in the policy as well. Where the two differ, a run that passed review is refused
#   on the cluster, or one that review refuses is let in. Judged are policies that say of themselves, by the annotation
#   training.gitops/rule, that they stand for run/allowed-overrides.
# related_resources:
# - ref: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
#   description: the policies, and their variables
# custom:
#   seen:
#   - "lab: tests/lab/test_admission.py::test_a_policy_whose_list_is_longer_lets_in_what_the_cluster_does_not_have"
#   - "lab: tests/lab/test_admission.py::test_the_api_server_and_the_rules_judge_alike"
#   - "lab: tests/lab/test_admission.py::test_every_run_is_admitted_and_a_privileged_one_is_not"
#   severity: error
#   needs: cluster
#   fix: "Set the variable's expression in the cluster's admission/ to the list that cluster.yaml has, or change cluster.yaml."
#   example: |
#     kind: ValidatingAdmissionPolicy
#     metadata: {name: training-run-overrides, annotations: {training.gitops/rule: run/allowed-overrides}}
#     spec:
#       variables:
#       - {name: hostPaths, expression: '["/"]'}  # and no runs.hostPaths in cluster.yaml
package rules.run.admission_as_the_cluster

import data.lib
import data.lib.overrides

report contains lib.at(i, path, sprintf("runs may bring as %s: %s, and by cluster.yaml: %s", [name, expression, json.marshal(expected)])) if {
	some i, policy in policies
	some name, expected in overrides.allowed
	some n, variable in policy.spec.variables
	variable.name == name
	expression := variable.expression
	not same(expression, expected)
	path := ["spec", "variables", n, "expression"]
}

report contains lib.at(i, ["spec", "variables"], sprintf("has no variable %s, and runs may bring by cluster.yaml: %s", [name, json.marshal(expected)])) if {
	some i, policy in policies
	some name, expected in overrides.allowed
	not name in {variable.name | some variable in policy.spec.variables}
}

policies := {i: policy |
	some i, policy in lib.objects("admissionregistration.k8s.io", "ValidatingAdmissionPolicy")
	policy.metadata.annotations["training.gitops/rule"] == "run/allowed-overrides"
}

# A list in CEL is written as in JSON; the order says nothing.
same(expression, expected) if {
	json.is_valid(expression)
	{item | some item in json.unmarshal(expression)} == {item | some item in expected}
}
