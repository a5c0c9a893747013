# METADATA
# title: Every run has a subdomain of its own
# description: |
#   JobSet makes a headless Service of the subdomain's name, whose selector is the JobSet that came first. A second
#   run with the same subdomain in the namespace finds the Service there and gets none of its own: its workers have no names in
#   DNS and never find one another. Where nothing is written the subdomain is the run's name.
# related_resources:
# - ref: https://github.com/kubernetes-sigs/jobset/blob/v0.12.0/pkg/controllers/jobset_controller.go
#   description: createHeadlessSvcIfNecessary
# custom:
#   symptoms:
#   - "the workers of a second run are not in DNS while the first is there"
#   severity: error
#   seen:
#   - "lab: tests/lab/test_roles.py::test_a_second_run_of_a_subdomain_has_no_names"
#   - "source: jobset pkg/controllers/jobset_controller.go"
#   fix: "Leave network.subdomain out: the subdomain is the run's name then."
#   example: |
#     kind: ClusterTrainingRuntime
#     spec:
#       template:
#         spec:
#           network: {subdomain: workers}
package rules.jobset.own_subdomain

import data.lib

report contains lib.in_workload(w, ["spec", "network", "subdomain"], message) if {
	some w in runs
	subdomain := w.jobset.spec.network.subdomain
	others := shared(w)
	count(others) > 0
	message := sprintf("%s has the subdomain %s too: of runs at a time only the first has names in DNS", [lib.joined(others), subdomain])
}

report contains object.union(lib.in_workload(w, ["spec", "network", "subdomain"], message), {"severity": "warning"}) if {
	some w in lib.workloads
	w.kind != "JobSet"
	subdomain := w.jobset.spec.network.subdomain
	subdomain != ""
	count(shared(w)) == 0
	message := sprintf("every run of the runtime has the subdomain %s: of those at a time in a namespace only the first has names in DNS", [subdomain])
}

runs := [w | some w in lib.workloads; w.kind in {"TrainJob", "JobSet"}]

# The other runs of the namespace whose pods would be in the same Service.
shared(w) := {sprintf("%s %s", [other.kind, other.name]) |
	some other in runs
	other.index != w.index
	other.namespace == w.namespace
	w.kind in {"TrainJob", "JobSet"}
	subdomain(other) == subdomain(w)
}

subdomain(w) := given if {
	given := w.jobset.spec.network.subdomain
	given != ""
} else := w.name
