# METADATA
# title: An admission check has its parameters and flavors
# description: |
#   Kueue's own admission checks need parameters: without them, or with a configuration that does not exist, the check is
#   inactive and so is every ClusterQueue that has it. A check whose onFlavors names no flavor of its ClusterQueue is never
#   asked: runs start without it, past the budget or before their nodes are there. MultiKueue's check is for
#   all flavors: onFlavors that leaves one out makes the ClusterQueue inactive.
# related_resources:
# - ref: https://kueue.sigs.k8s.io/docs/concepts/admission_check/
# custom:
#   symptoms:
#   - "ClusterQueue inactive: AdmissionCheckInactive"
#   severity: error
#   needs: cluster
#   seen:
#   - "lab: tests/lab/test_queues.py::test_runs_that_are_never_admitted"
#   - "lab: tests/lab/test_queues.py::test_checks_that_are_inactive"
#   - "lab: tests/lab/test_queues.py::test_a_check_for_a_flavor_that_the_queue_does_not_have_holds_no_run"
#   - "lab: tests/lab/test_queues.py::test_a_multikueue_check_for_some_flavors_makes_its_queue_inactive"
#   - "source: kueue pkg/cache/scheduler/clusterqueue.go"
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
	flavors := flavors_of(queue)
	some n, check in queue.spec.admissionChecksStrategy.admissionChecks
	not multikueue(check.name)
	missing := [flavor | some flavor in check.onFlavors; not flavor in flavors]
	count(missing) > 0
	message := sprintf("ClusterQueue %s has no flavor %s (it has: %s): runs are not held for check %s there", [queue.metadata.name, lib.joined(missing), lib.joined(flavors), check.name])
}

report contains object.union(lib.at(i, ["spec", "admissionChecksStrategy", "admissionChecks", n, "onFlavors"], message), {"fix": "Leave onFlavors out."}) if {
	some i, queue in lib.objects("kueue.x-k8s.io", "ClusterQueue")
	some n, check in queue.spec.admissionChecksStrategy.admissionChecks
	multikueue(check.name)
	asked := {flavor | some flavor in check.onFlavors}
	count(asked) > 0
	asked != flavors_of(queue)
	message := sprintf("check %s is of MultiKueue, which is for all flavors of a ClusterQueue (here: %s): %s is inactive", [check.name, lib.joined(flavors_of(queue)), queue.metadata.name])
}

flavors_of(queue) := {flavor.name | some group in queue.spec.resourceGroups; some flavor in group.flavors}

multikueue(name) if {
	some check in lib.objects_named("kueue.x-k8s.io", "AdmissionCheck", name)
	check.spec.controllerName == "kueue.x-k8s.io/multikueue"
}

configured_by := {
	"kueue.x-k8s.io/provisioning-request": "ProvisioningRequestConfig",
	"kueue.x-k8s.io/multikueue": "MultiKueueConfig",
}

severity(check, flavors) := "warning" if {
	some flavor in check.onFlavors
	flavor in flavors
} else := "error"
