package rules_test.argocd.as_the_cluster

import data.lib
import data.rules.argocd.as_the_cluster
import data.rules_test.applications

facts := {"destination": "in-cluster", "repository": "https://git.example/science/runs", "revision": "main"}

source := {"repoURL": "https://git.example/science/runs.git", "path": "clusters/west/runs/owls", "targetRevision": "main"}

with_source(change) := json.patch(applications.document, [
	{"op": "add", "path": "/cluster/name", "value": "west"},
	{"op": "add", "path": "/cluster/argocd", "value": facts},
	{"op": "replace", "path": "/applications/0/sources/0/spec", "value": object.union(source, change)},
])

found(path, text) := {lib.at(0, path, sprintf("Application owls: %s", [text]))}

test_fail_repository if {
	as_the_cluster.report == found(["spec", "source", "repoURL"], "the repository is https://git.example/arts/runs, and cluster.yaml says https://git.example/science/runs") with input as with_source({"repoURL": "https://git.example/arts/runs"})
}

test_fail_revision if {
	as_the_cluster.report == found(["spec", "source", "targetRevision"], "the revision is next, and cluster.yaml says main") with input as with_source({"targetRevision": "next"})
}

elsewhere(destination) := json.patch(with_source({}), [{"op": "replace", "path": "/applications/0/spec/destination", "value": destination}])

test_fail_destination if {
	as_the_cluster.report == found(["spec", "destination", "name"], "the destination is east, and cluster.yaml says in-cluster") with input as elsewhere({"name": "east", "namespace": "owls"})
}

another_folder(severity) := {object.union(lib.at(0, ["spec", "source", "path"], "Application owls: it deploys the folder of cluster east, and this is cluster west"), {"severity": severity})}

test_fail_folder_of_another_cluster if {
	as_the_cluster.report == another_folder("error") with input as with_source({"path": "clusters/east/queues"})
	as_the_cluster.report == another_folder("warning") with input as json.patch(with_source({"path": "clusters/east/queues"}), [{"op": "replace", "path": "/applications/0/spec/destination", "value": {"name": "east", "namespace": "owls"}}])
}

test_fail_version if {
	every change in [{"repoURL": "https://github.com/kubernetes-sigs/kueue.git"}, {"repoURL": "oci://registry.example/charts", "chart": "kueue"}] {
		as_the_cluster.report == found(["spec", "source", "targetRevision"], "it installs kueue v0.16.1, and versions in cluster.yaml says 0.17.0") with input as with_source(object.union(change, {"path": "config/default", "targetRevision": "v0.16.1"}))
	}
}

test_fail_namespace if {
	as_the_cluster.report == found(["spec", "destination", "namespace"], "it deploys runs to namespace owls, and the training namespaces of cluster.yaml are eagles, hawks") with input as json.patch(with_source({}), [{"op": "add", "path": "/cluster/trainingNamespaces", "value": ["hawks", "eagles"]}])
}

test_success_as_the_facts if {
	as_the_cluster.report == set() with input as with_source({})
	as_the_cluster.report == set() with input as json.patch(with_source({}), [{"op": "add", "path": "/cluster/trainingNamespaces", "value": ["owls"]}])
}

test_success_address_of_the_own_cluster if as_the_cluster.report == set() with input as elsewhere({"server": "https://kubernetes.default.svc", "namespace": "owls"})

test_success_templates if {
	as_the_cluster.report == set() with input as with_source({"repoURL": "{{ .repository }}", "targetRevision": "{{ .revision }}"})
}

test_success_applications_of_another_cluster if as_the_cluster.report == set() with input as with_source({"path": "clusters/east/argocd"})

test_success_another_repository if {
	as_the_cluster.report == set() with input as with_source({"repoURL": "https://git.example/arts/runs", "path": "clusters/east/queues"})
}

test_success_moving_version if {
	as_the_cluster.report == set() with input as with_source({"repoURL": "https://github.com/kubernetes-sigs/kueue", "path": "config/default", "targetRevision": "release-0.16"})
}

test_success_facts_without_argocd if {
	as_the_cluster.report == set() with input as json.patch(with_source({"targetRevision": "next"}), [{"op": "remove", "path": "/cluster/argocd"}])
}
