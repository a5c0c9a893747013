# METADATA
# title: Every object has one owner
# description: |
#   The same object twice: whichever is applied last overwrites the other. Where the two belong to different applications,
#   it is the one's that applied it last: the other is OutOfSync, undoes the change only where it heals itself, and deletes
#   nothing. What the owner no longer has it deletes where it prunes, although the other has it still.
# related_resources:
# - ref: https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/#fail-the-sync-if-a-shared-resource-is-found
#   description: shared resources in Argo CD
# custom:
#   seen:
#   - "lab: tests/lab/test_argocd_claims.py::test_an_object_of_two_applications_is_the_ones_that_applied_it_last"
#   - "source: argocd controller/state.go"
#   - "source: argocd controller/cache/cache.go"
#   - "source: argocd util/argo/resource_tracking.go"
#   severity: error
#   fix: "Keep the object in one place and build both from there, or give one of them another name."
#   example: |
#     - {apiVersion: v1, kind: ConfigMap, metadata: {name: code, namespace: training}}
#     - {apiVersion: v1, kind: ConfigMap, metadata: {name: code, namespace: training}}
package rules.scope.one_owner

import data.lib

report contains object.union_n([lib.at(this, ["metadata", "name"], message), {"also": sort(same - {this})}, severity(same)]) if {
	some key, same in places
	count(same) > 1
	this := judged(same)
	message := sprintf("%s is there %d times: the one applied last overwrites the others", [key.kind, count(same)])
}

# Where each object is, by what identifies it.
places := {key: same |
	some key in identities
	same := {i | some i; identities[i] == key}
}

identities := {i: key |
	some i, manifest in input.objects
	key := {
		"group": lib.api_group(manifest),
		"kind": manifest.kind,
		"namespace": object.get(manifest.metadata, "namespace", ""),
		"name": manifest.metadata.name,
	}
}

# The last one that belongs to the target.
judged(same) := max([i | some i in same; input.members[i]])

# Two equal Namespaces do no harm to one another.
severity(same) := {"severity": "warning"} if harmless(same)

severity(same) := {} if not harmless(same)

harmless(same) if {
	count({input.objects[i] | some i in same}) == 1
	some i in same
	input.objects[i].kind == "Namespace"
}
