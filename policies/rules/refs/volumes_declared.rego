# METADATA
# title: What a container mounts is a volume of its pod
# description: |
#   A container that mounts a volume which the pod does not have makes the pod template invalid: TrainJob and JobSet are
#   accepted, the Job is refused, and no pod appears. It happens where a patch replaces the list of volumes (kustomize
#   has no merge keys for custom resources) or where a volume is renamed in one of the two places.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/storage/volumes/
# - ref: https://github.com/kubernetes-sigs/kustomize/issues/2825
#   description: lists of custom resources are replaced
# custom:
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_what_is_refused_later_makes_no_job"
#   - "source: kubernetes pkg/apis/core/validation/validation.go"
#   severity: error
#   fix: "Add the volume to the pod's volumes, or write the name of one that is there. A patch that adds a volume must not replace the list: use a JSON 6902 `add` to `volumes/-`."
#   example: |
#     containers:
#     - name: node
#       volumeMounts: [{name: shm, mountPath: /dev/shm}]
#     volumes: [{name: scratch, emptyDir: {}}]  # no shm
package rules.refs.volumes_declared

import data.lib

report contains object.union(lib.in_workload(g.workload, path, message), severity(g.workload)) if {
	some g in lib.all_pods
	some c in lib.pod_containers(g)
	some list in ["volumeMounts", "volumeDevices"]
	some n, mount in c.container[list]
	not mount.name in volumes(g)
	path := array.concat(c.path, [list, n, "name"])
	message := sprintf("the container %s mounts the volume %s, and the pod has no such volume (it has: %s): no pod can be made", [
		c.container.name,
		mount.name,
		lib.joined(volumes(g)),
	])
}

# The pod's own, and those of claims that JobSet makes.
volumes(g) := {volume.name | some volume in lib.pod_spec(g).volumes} | {claim.metadata.name |
	some policy in g.workload.jobset.spec.volumeClaimPolicies
	some claim in policy.templates
}

# A TrainJob can still give an unused runtime the volume, by a runtimePatch.
severity(w) := {"severity": "warning"} if endswith(w.kind, "TrainingRuntime")

severity(w) := {"severity": "error"} if not endswith(w.kind, "TrainingRuntime")
