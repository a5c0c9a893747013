# METADATA
# title: The path of an application exists
# description: |
#   An Application whose path does not exist is in the state Unknown (ComparisonError, "app path does not exist"); one
#   whose path holds nothing that can be deployed is Synced. Both deploy nothing. An ApplicationSet whose folders do not
#   exist makes no Application and tells of no error. Only paths of this repository are judged: argocd.repository in
#   cluster.yaml says which URL that is; without it, the paths themselves tell.
# related_resources:
# - ref: https://argo-cd.readthedocs.io/en/stable/user-guide/application_sources/
#   description: what a path may hold
# custom:
#   seen:
#   - "lab: tests/lab/test_argocd_claims.py::test_an_application_that_leads_nowhere_says_why"
#   - "lab: tests/lab/test_argocd_claims.py::test_an_application_of_a_folder_without_manifests_is_synced_and_deploys_nothing"
#   - "lab: tests/lab/test_argocd_claims.py::test_an_application_set_of_folders_that_are_not_there_makes_nothing_and_is_content"
#   - "source: argocd util/app/path/path.go"
#   - "source: argocd controller/state.go"
#   severity: error
#   fix: "Write the path of an existing folder, from the root of the repository, or add the folder."
#   symptoms:
#   - "ComparisonError: app path does not exist"
#   example: |
#     kind: Application
#     spec:
#       source: {path: clusters/lab/rnus/nightly}   # the folder is called runs
package rules.argocd.path_exists

import data.lib
import data.lib.argocd

report contains lib.at(app.object, array.concat(source.path, ["path"]), sprintf("%s: the path %s %s", [argocd.title(app), source.spec.path, source.fault])) if {
	some app in input.applications
	some source in app.sources
	source.fault != ""
}

report contains lib.at(app.object, generator.path, sprintf("%s looks for folders in %s, which do not exist in this repository", [lib.title(input.objects[app.object]), generator.pattern])) if {
	some app in input.applications
	some generator in app.generators
}
