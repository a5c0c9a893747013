# METADATA
# title: Argo CD deletes no claim
# description: |
#   Checkpoints and data outlive every Application. A claim of one that prunes is deleted when its manifest goes, and with
#   the finalizer when the Application goes; with most storage classes the volume goes too. Annotations of the claim forbid
#   each of the two; Helm's resource-policy forbids the latter alone.
# related_resources:
# - ref: https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/#no-prune-resources
#   description: Prune=false and Delete=false
# custom:
#   seen:
#   - "lab: tests/lab/test_argocd_claims.py::test_a_claim_is_deleted_with_its_manifest_or_its_application"
#   - "lab: tests/lab/test_argocd_claims.py::test_the_gate_tells_which_claims_argo_cd_deletes"
#   - "lab: tests/lab/test_argocd.py::test_a_second_cluster_comes_and_goes_with_its_folder"
#   - "source: argocd controller/appcontroller.go"
#   - "source: gitops-engine pkg/sync/sync_context.go"
#   severity: warning
#   fix: "Annotate the claim with argocd.argoproj.io/sync-options: Prune=false,Delete=false, or deploy it by an Application without prune and finalizer."
#   example: |
#     kind: PersistentVolumeClaim
#     metadata: {name: checkpoints}   # of an Application with automated: {prune: true}
package rules.argocd.claims_kept

import data.lib
import data.lib.argocd

report contains lib.at(app.object, path, sprintf("%s deploys %s and deletes it %s", [argocd.title(app), lib.title(claim), when])) if {
	some app in input.applications
	some claim in app.deploys
	claim.kind == "PersistentVolumeClaim"
	some path, when in deleting(app, claim)
}

deleting(app, claim) := object.union(
	{array.concat(app.path, ["syncPolicy", "automated", "prune"]): "when its manifest goes" |
		app.spec.syncPolicy.automated.prune == true
		not kept(claim, {"Prune=false", "Prune=confirm"})
	},
	{array.concat(array.slice(app.path, 0, count(app.path) - 1), ["metadata", "finalizers"]): "when the application goes" |
		some finalizer in app.finalizers
		startswith(finalizer, "resources-finalizer.argocd.argoproj.io")
		not kept(claim, {"Delete=false", "Delete=confirm"})
		not claim.metadata.annotations["helm.sh/resource-policy"] == "keep"
	},
)

kept(claim, words) if {
	some text in split(claim.metadata.annotations[argocd.sync_options], ",")
	trim_space(text) in words
}
