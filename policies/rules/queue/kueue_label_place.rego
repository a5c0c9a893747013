# METADATA
# title: The queue label stands on the run itself and nowhere below
# description: |
#   Kueue reads the queue of a TrainJob from the TrainJob's own labels. On the runtime, the JobSet, the Job or the pod
#   template (also by a runtimePatch) the label does not queue the TrainJob: nothing is queued, or Kueue suspends a child
#   that its owner starts again (pods are made and killed without end), or, on the pod template with Kueue's integration
#   of pods on, each pod is queued alone. An annotation of that name is not read at all.
# related_resources:
# - ref: https://github.com/kubernetes-sigs/kueue/issues/3711
# - ref: https://github.com/kubernetes-sigs/kueue/blob/v0.17.0/pkg/controller/jobframework/reconciler.go
# custom:
#   symptoms:
#   - "no Workload for a TrainJob whose runtime has the queue label"
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_with_the_queue_label_below_the_run_kueue_stops_what_its_owner_starts"
#   - "lab: tests/lab/test_gate_and_cluster.py::test_without_the_queue_label_a_run_starts_from_a_closed_queue"
#   - "lab: tests/lab/test_gate_and_cluster.py::test_with_the_queue_label_on_the_pods_each_pod_is_queued_alone"
#   - "source: kueue pkg/controller/jobframework/interface.go"
#   - "source: kueue pkg/controller/jobframework/reconciler.go"
#   severity: error
#   fix: "Move the label to metadata.labels of the TrainJob (of the JobSet if nothing owns it) and remove it here."
#   example: |
#     apiVersion: trainer.kubeflow.org/v1alpha1
#     kind: ClusterTrainingRuntime
#     metadata: {name: tf-resnet}
#     spec:
#       template:
#         metadata:
#           labels: {kueue.x-k8s.io/queue-name: daytime}  # the JobSet's, not the TrainJob's
package rules.queue.kueue_label_place

import data.lib
import data.lib.queueing

report contains object.union(lib.at(i, path, message(path, i, value)), {"severity": severity(i, value)}) if {
	some i, manifest in candidates
	walk(manifest, [path, value])
	path[count(path) - 1] == queueing.label
	path[count(path) - 2] in {"labels", "annotations"}
	not reads(manifest, path)
	not kueues_own(manifest, path)
}

candidates := {i: manifest |
	some i, manifest in input.objects
	manifest.kind in {"TrainJob", "JobSet", "ClusterTrainingRuntime", "TrainingRuntime"}
	lib.api_group(manifest) in {"trainer.kubeflow.org", "jobset.x-k8s.io"}
	not queueing.owned(manifest)
}

# The one place that Kueue reads.
reads(manifest, path) if {
	manifest.kind in {"TrainJob", "JobSet"}
	path == ["metadata", "labels", queueing.label]
}

# Kueue's own patch of a TrainJob carries the label to the JobSet.
kueues_own(manifest, path) if {
	path[1] == "runtimePatches"
	manifest.spec.runtimePatches[path[2]].manager == "kueue.x-k8s.io/manager"
}

# The queues of the runs that the object is part of.
queues(i) := [object.get(queueing_label, w.object, "") |
	some w in queueing.runs
	i in {w.object, w.runtime}
]

queueing_label[w.object] := queueing.labelled(input.objects[w.object]) if some w in queueing.runs

# Without effect where every run has the same label in the right place.
severity(i, value) := "warning" if harmless(i, value)

severity(i, value) := "error" if not harmless(i, value)

harmless(i, value) if {
	count(queues(i)) > 0
	every queue in queues(i) { queue == value }
}

message(path, i, value) := sprintf("%s %s=%s stands on %s, where it does not queue the run: %s", [kind(path), queueing.label, value, place(path), consequence(i, value)])

kind(path) := trim_suffix(path[count(path) - 2], "s")

consequence(i, value) := "it can go" if harmless(i, value)

consequence(i, value) := "Kueue reads the label of the TrainJob or of a JobSet that nothing owns" if not harmless(i, value)

place(path) := "the object's metadata" if path[0] == "metadata"

place(path) := "the pod template" if {
	path[0] == "spec"
	below_job(path) in {"spec", "podTemplateOverrides"}
}

place(path) := "the Job template" if {
	path[0] == "spec"
	below_job(path) == "metadata"
}

place(path) := "the JobSet" if {
	path[0] == "spec"
	below_job(path) == ""
}

# What follows the Job template in the path: `spec` leads to the pod template.
below_job(path) := path[at[0] + 3] if {
	at := [n | some n, key in path; key == "replicatedJobs"]
	count(at) > 0
}

below_job(path) := "podTemplateOverrides" if path[1] == "podTemplateOverrides"

below_job(path) := "" if {
	path[1] != "podTemplateOverrides"
	not "replicatedJobs" in path
}
