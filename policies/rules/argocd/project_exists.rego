# METADATA
# title: The project of an application exists
# description: |
#   An Application of a project that does not exist is refused (InvalidSpecError) and deploys nothing. Where no project
#   is among the objects at all they are kept elsewhere, which `external` can say, and this is a warning.
# related_resources:
# - ref: https://argo-cd.readthedocs.io/en/stable/user-guide/projects/
#   description: projects
# custom:
#   seen:
#   - "lab: tests/lab/test_argocd_claims.py::test_an_application_that_leads_nowhere_says_why"
#   - "source: argocd controller/appcontroller.go"
#   severity: error
#   needs: cluster
#   fix: "Write the name of an existing AppProject, add it, or list it under `external` in cluster.yaml: `AppProject/{namespace}/{name}`."
#   symptoms:
#   - "Application referencing project which does not exist"
#   example: |
#     kind: Application
#     spec: {project: trainings}   # the AppProject is called training
package rules.argocd.project_exists

import data.lib
import data.lib.argocd

report contains object.union(argocd.at(app, ["project"], message), {"severity": severity}) if {
	some app in input.applications
	name := app.spec.project
	not name in {"", "default"}
	not argocd.templated(name)
	not argocd.project(app)
	not external(name)
	message := sprintf("%s: the project %s does not exist (there is: %s)", [argocd.title(app), name, lib.names(argocd.group, "AppProject", "")])
}

external(name) if {
	some each in input.cluster.external
	each.kind == "AppProject"
	each.name == name
}

default severity := "warning"

severity := "error" if count(lib.objects(argocd.group, "AppProject")) > 0
