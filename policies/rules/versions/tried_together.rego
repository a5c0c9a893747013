# METADATA
# title: The versions of a cluster are tried together
# description: |
#   Each release is built with certain releases of the others and tried on certain releases of Kubernetes; another pair may
#   work as well, and nobody has tried it. This is information: pairs that are known to fail are errors of rules of their own.
# related_resources:
# - ref: https://github.com/kubernetes-sigs/kueue/blob/v0.17.0/go.mod
#   description: the Trainer and the JobSet that Kueue is built with
# - ref: https://github.com/kubeflow/trainer/blob/v2.3.0/.github/workflows/test-e2e.yaml
#   description: the Kubernetes that Trainer is tried on
# custom:
#   severity: info
#   needs: cluster
#   seen:
#   - "source: trainer go.mod"
#   - "source: trainer .github/workflows/test-e2e.yaml"
#   - "source: kueue go.mod"
#   - "source: kueue Makefile-test.mk"
#   - "source: jobset Makefile"
#   - "source: jobset go.mod"
#   - "source: volcano go.mod"
#   - "source: argocd docs/operator-manual/tested-kubernetes-versions.md"
#   fix: "Choose versions that upstream tries together, or try the pair where nobody depends on it."
#   example: |
#     # cluster.yaml
#     versions: {kubernetes: "1.35", trainer: "2.3.0", jobset: "0.11.1"}
package rules.versions.tried_together

import data.lib
import data.lib.versions

report contains lib.of_cluster(["versions", pair["with"]], message) if {
	some pair in versions.pairs
	one := minor(pair.of)
	other := minor(pair["with"])
	tried := pair.tried[one]
	not other in tried
	not in_the_lab(pair)
	message := sprintf("%s %s is tried with %s %s, and not with %s (%s)", [
		pair.of,
		one,
		pair["with"],
		lib.joined(tried),
		other,
		concat(", ", pair.sources),
	])
}

minor(component) := concat(".", array.slice(split(input.cluster.versions[component], "."), 0, 2))

in_the_lab(pair) if {
	every component in [pair.of, pair["with"]] { versions.lab[component] == minor(component) }
}
