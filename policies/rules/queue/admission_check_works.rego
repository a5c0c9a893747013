# METADATA
# title: An admission check has its parameters and flavors
# description: |
#   Kueue's own admission checks need parameters: without them, or with a configuration that does not exist, the check is
#   inactive and so is every ClusterQueue that has it. A check whose onFlavors names no flavor of its ClusterQueue is never
#   asked: runs start without it, past the budget or before their nodes are there.
# related_resources:
# - ref: https://kueue.sigs.k8s.io/docs/concepts/admission_check/
# custom:
#   symptoms:
#   - "ClusterQueue inactive: AdmissionCheckInactive"
#   severity: error
#   needs: cluster
#   seen:
#   - "lab: tests/lab/test_queues.py::test_runs_that_are_never_admitted"
#   - "source: kueue pkg/util/admissioncheck/admissioncheck.go"
#   - "source: kueue pkg/controller/admissionchecks/provisioning/admissioncheck_reconciler.go"
#   - "source: kueue pkg/workload/workload.go"
#   fix: "Write the name of an existing configuration in spec.parameters, and flavors of the ClusterQueue in onFlavors."
#   example: |
#     kind: AdmissionCheck
#     metadata: {name: provisioning}
#     spec: {controllerName: kueue.x-k8s.io/provisioning-request}  # no parameters
package rules.queue.admission_check_works

import data.lib

report contains lib.at(i, ["spec", "parameters"], sprintf("%s needs parameters of kind %s: without them the check is inactive, and every ClusterQueue that has it", [check.spec.controllerName, kind])) if {
	some i, check in lib.objects("kueue.x-k8s.io", "AdmissionCheck")
	kind := configured_by[check.spec.controllerName]
	not check.spec.parameters
}

report contains lib.at(i, ["spec", "parameters", "kind"], sprintf("%s takes parameters of kind %s, not %s: the check is inactive, and every ClusterQueue that has it", [check.spec.controllerName, kind, check.spec.parameters.kind])) if {
	some i, check in lib.objects("kueue.x-k8s.io", "AdmissionCheck")
	kind := configured_by[check.spec.controllerName]
	check.spec.parameters.kind != kind
}

report contains lib.at(i, ["spec", "parameters", "name"], sprintf("%s %s does not exist (there is: %s): the check is inactive, and every ClusterQueue that has it", [kind, name, lib.names("kueue.x-k8s.io", kind, "")])) if {
	some i, check in lib.objects("kueue.x-k8s.io", "AdmissionCheck")
	kind := configured_by[check.spec.controllerName]
	check.spec.parameters.kind == kind
	name := check.spec.parameters.name
	not lib.exists("kueue.x-k8s.io", kind, "", name)
}

report contains object.union(lib.at(i, ["spec", "admissionChecksStrategy", "admissionChecks", n, "onFlavors"], message), {"severity": severity(check, flavors)}) if {
	some i, queue in lib.objects("kueue.x-k8s.io", "ClusterQueue")
	flavors := {flavor.name | some group in queue.spec.resourceGroups; some flavor in group.flavors}
	some n, check in queue.spec.admissionChecksStrategy.admissionChecks
	missing := [flavor | some flavor in check.onFlavors; not flavor in flavors]
	count(missing) > 0
	message := sprintf("ClusterQueue %s has no flavor %s (it has: %s): runs are not held for check %s there", [queue.metadata.name, lib.joined(missing), lib.joined([f | some f in flavors]), check.name])
}

configured_by := {
	"kueue.x-k8s.io/provisioning-request": "ProvisioningRequestConfig",
	"kueue.x-k8s.io/multikueue": "MultiKueueConfig",
}

severity(check, flavors) := "warning" if {
	some flavor in check.onFlavors
	flavor in flavors
} else := "error"
