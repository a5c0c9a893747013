# METADATA
# title: The claims that pods mount
# description: Only those that are in the input, and those that JobSet makes of volumeClaimPolicies, one for all pods of a JobSet.
package lib.claims

import data.lib

# {"volume", "name", "spec", "object", "path"}: `path` leads to what names the claim in the workload; `object` is null
# where JobSet makes it.
of(g) := named(g) | made(g)

named(g) := {{"volume": volume.name, "name": claim.metadata.name, "spec": claim.spec, "object": i, "path": path} |
	some n, volume in lib.pod_spec(g).volumes
	some i, claim in lib.objects_named("", "PersistentVolumeClaim", volume.persistentVolumeClaim.claimName)
	object.get(claim.metadata, "namespace", "") == g.workload.namespace
	path := lib.pod_path(g, ["volumes", n, "persistentVolumeClaim", "claimName"])
}

made(g) := {{"volume": claim.metadata.name, "name": claim.metadata.name, "spec": claim.spec, "object": null, "path": path} |
	some p, policy in g.workload.jobset.spec.volumeClaimPolicies
	some t, claim in policy.templates
	some c in lib.pod_containers(g)
	some mount in c.container.volumeMounts
	mount.name == claim.metadata.name
	path := ["spec", "volumeClaimPolicies", p, "templates", t, "spec", "accessModes"]
}

# Whether pods may use a claim in one way only.
only(claim, mode) if {
	count(claim.spec.accessModes) > 0
	every given in claim.spec.accessModes { given == mode }
}

# Whether the volume is made for the claim, so that it is of the claim's access modes and no more.
provisioned(claim) if {
	not claim.spec.volumeName
	not claim.spec.selector
	object.get(claim.spec, "storageClassName", "standard") != ""
}

# A finding at the claim's access modes where the claim belongs to the target, else where the workload names it.
finding(_, claim, message) := lib.at(claim.object, ["spec", "accessModes"], message) if input.members[claim.object]

finding(workload, claim, message) := lib.in_workload(workload, claim.path, message) if not input.members[claim.object]
