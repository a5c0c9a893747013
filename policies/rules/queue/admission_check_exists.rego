# METADATA
# title: The admission checks of a ClusterQueue exist
# description: |
#   One AdmissionCheck that does not exist makes the whole ClusterQueue inactive (AdmissionCheckNotFound): nothing that
#   is sent to it is ever admitted.
# related_resources:
# - ref: https://kueue.sigs.k8s.io/docs/concepts/admission_check/
# custom:
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_a_queue_that_names_what_is_missing_is_inactive"
#   - "source: kueue pkg/cache/scheduler/clusterqueue.go"
#   severity: error
#   needs: cluster
#   fix: "Write the name of an existing AdmissionCheck, add it, or remove the check from the ClusterQueue."
#   example: |
#     kind: ClusterQueue
#     metadata: {name: vision}
#     spec:
#       admissionChecksStrategy:
#         admissionChecks:
#         - name: provisoning  # the AdmissionCheck is called provisioning
package rules.queue.admission_check_exists

import data.lib
import data.lib.queueing

report contains lib.at(i, path, sprintf("AdmissionCheck %s does not exist (there is: %s): the ClusterQueue is inactive and admits nothing", [name, lib.names("kueue.x-k8s.io", "AdmissionCheck", "")])) if {
	some i, queue in lib.objects("kueue.x-k8s.io", "ClusterQueue")
	some path, name in queueing.checks(queue)
	not lib.exists("kueue.x-k8s.io", "AdmissionCheck", "", name)
}
