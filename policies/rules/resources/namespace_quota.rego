# METADATA
# title: A run fits the ResourceQuotas of its namespace
# description: |
#   The API server refuses each pod that would exceed a ResourceQuota of its namespace. Neither Kueue nor a gang scheduler
#   reads these: the run is admitted, the pods that fit hold their devices, and the others are never made. Judged as if
#   the run had the namespace for itself. Of quotas with scopes, which count certain pods only, nothing is said.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/policy/resource-quotas/
#   description: what a ResourceQuota counts
# custom:
#   symptoms:
#   - "pods are forbidden: exceeded quota"
#   - "pods are forbidden: failed quota: must specify limits.memory"
#   seen:
#   - "lab: tests/lab/test_admitted.py::test_above_the_quota_of_its_namespace_one_worker_holds_its_gpu_and_the_other_is_never_made"
#   - "lab: tests/lab/test_admitted.py::test_above_another_quota_of_its_namespace_a_run_is_made_in_part_or_not"
#   - "lab: tests/lab/test_admitted.py::test_a_quota_of_what_a_container_does_not_say_takes_no_pod"
#   - "source: kubernetes pkg/quota/v1/evaluator/core/pods.go"
#   - "source: kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go"
#   severity: error
#   fix: "Ask for fewer nodes (trainer.numNodes) or less on each (trainer.resourcesPerNode), or raise what the ResourceQuota allows."
#   example: |
#     kind: ResourceQuota
#     metadata: {name: share, namespace: vision}
#     spec: {hard: {requests.nvidia.com/gpu: "8"}}  # and a run of the namespace has 2 nodes of 8 GPUs
package rules.resources.namespace_quota

import data.lib
import data.lib.queueing

report contains lib.in_workload(w, queueing.parallelism_path(largest), message) if {
	some w in queueing.here
	some quota in quotas(w)
	some key, amount in quota.spec.hard
	amounts := [n | some pod in w.pods; n := counted(w, pod, key)]
	count(amounts) > 0
	needed := together(w, amounts)
	most := lib.quantity(amount)
	queueing.exceeds(needed, most)
	largest := [pod | some pod in w.pods; counted(w, pod, key) == max(amounts)][0]
	message := sprintf("its pods need %s at a time, and ResourceQuota %s of namespace %s allows %s: what is beyond is never made, while the others hold their nodes", [
		named(key, needed),
		quota.metadata.name,
		w.namespace,
		queueing.amount(resource(key), most),
	])
}

# Each container has to say of cpu and memory what the quota counts.
report contains object.union(lib.in_workload(w, array.concat(c.path, ["resources"]), message), {"fix": sprintf("Write %s of the container.", [key])}) if {
	some w in queueing.here
	some quota in quotas(w)
	some key, _ in quota.spec.hard
	side := sides[key]
	count(lib.limit_ranges(w, "Container")) == 0 # which fill in
	some pod in w.pods
	pod.count > 0
	g := {"workload": w, "pod": pod}
	not lib.pod_spec(g).resources
	some c in lib.pod_containers(g)
	every from in side { not c.container.resources[from][resource(key)] }
	message := sprintf("ResourceQuota %s of namespace %s counts %s, and container %s does not say it: no pod is made", [quota.metadata.name, w.namespace, key, c.container.name])
}

# A request that is not given is the limit.
sides := {
	"cpu": ["requests", "limits"],
	"memory": ["requests", "limits"],
	"requests.cpu": ["requests", "limits"],
	"requests.memory": ["requests", "limits"],
	"limits.cpu": ["limits"],
	"limits.memory": ["limits"],
}

quotas(w) := [quota |
	some quota in lib.objects("", "ResourceQuota")
	object.get(quota.metadata, "namespace", "") == w.namespace
	count(object.get(quota.spec, "scopes", [])) == 0
	not quota.spec.scopeSelector
]

# Pods that come one after the other do not add up.
together(w, amounts) := sum(amounts) if not queueing.in_order(w)

together(w, amounts) := max(amounts) if queueing.in_order(w)

counted(_, pod, "pods") := pod.count

counted(_, pod, "count/pods") := pod.count

counted(w, pod, "count/jobs.batch") := object.get(w.jobset.spec.replicatedJobs[pod.replicatedJob], "replicas", 1)

counted(_, pod, key) := object.get(pod.limits, resource(key), 0) * pod.count if startswith(key, "limits.")

counted(_, pod, key) := queueing.total(pod, resource(key)) if startswith(key, "requests.")

counted(_, pod, key) := queueing.total(pod, key) if {
	key in {"cpu", "memory", "ephemeral-storage"}
}

counted(_, pod, key) := queueing.total(pod, key) if startswith(key, "hugepages-")

resource(key) := trim_prefix(trim_prefix(key, "requests."), "limits.")

named(key, number) := sprintf("%v pods", [number]) if key in {"pods", "count/pods"}

named("count/jobs.batch", number) := sprintf("%v Jobs", [number])

named(key, number) := sprintf("%s %s", [queueing.amount(resource(key), number), key]) if not key in {"pods", "count/pods", "count/jobs.batch"}
