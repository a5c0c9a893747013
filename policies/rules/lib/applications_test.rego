# Inputs for the tests of rules about Argo CD: an application of one run in its project, right in every respect.
package rules_test.applications

options := ["ServerSideApply=true", "RespectIgnoreDifferences=true"]

ignored := [{"group": "trainer.kubeflow.org", "kind": "TrainJob", "jsonPointers": ["/spec/suspend", "/spec/runtimePatches"]}]

spec := {
	"project": "science",
	"source": {"repoURL": "https://git.example/science/runs.git", "path": "runs/owls"},
	"destination": {"server": "https://kubernetes.default.svc", "namespace": "owls"},
	"syncPolicy": {"automated": {"selfHeal": true}, "syncOptions": options},
	"ignoreDifferences": ignored,
}

run := {
	"apiVersion": "trainer.kubeflow.org/v1alpha1",
	"kind": "TrainJob",
	"metadata": {"name": "owls-1", "namespace": "owls", "labels": {"kueue.x-k8s.io/queue-name": "night"}},
}

# The Application is object 0 and the first view, its project object 1.
document := {
	"cluster": {"versions": {"kueue": "0.17.0"}, "external": []},
	"objects": [
		{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "owls"}, "spec": spec},
		{"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject", "metadata": {"name": "science"}, "spec": {
			"sourceRepos": ["https://git.example/science/*"],
			"destinations": [{"server": "https://kubernetes.default.svc", "namespace": "owls"}],
			"namespaceResourceWhitelist": [{"group": "trainer.kubeflow.org", "kind": "TrainJob"}],
		}},
	],
	"members": [true, true],
	"cluster_scoped": ["Namespace"],
	"namespaced": ["TrainJob.trainer.kubeflow.org", "ConfigMap"],
	"applications": [{
		"object": 0,
		"path": ["spec"],
		"name": "owls",
		"generators": [],
		"finalizers": [],
		"spec": spec,
		"sources": [{"path": ["spec", "source"], "spec": spec.source, "fault": ""}],
		"deploys": [run],
		"known": true,
	}],
}

# The document with one field of its first view, of its project or of anything else set.
with_view(field, value) := set(sprintf("/applications/0/%s", [field]), value)

with_project(field, value) := set(sprintf("/objects/1/spec/%s", [field]), value)

set(path, value) := json.patch(document, [{"op": "add", "path": path, "value": value}])

# The same application where its folder is not in the repository.
elsewhere := json.patch(document, [
	{"op": "replace", "path": "/applications/0/known", "value": false},
	{"op": "replace", "path": "/applications/0/deploys", "value": []},
])
