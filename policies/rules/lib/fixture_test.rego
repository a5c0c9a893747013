# METADATA
# title: Inputs that the tests of rules start from
# description: Right in every respect; a test makes its one fault by json.patch.
package rules_test.fixture

# A TrainJob of two TensorFlow workers (object 0, workload 0) and its ClusterTrainingRuntime (object 1).
trainjob := {
	"cluster": {"versions": {"trainer": "2.3.0", "kueue": "0.17.0"}, "nodes": [], "network": {"interface": "eth0"}, "external": []},
	"objects": [
		{
			"apiVersion": "trainer.kubeflow.org/v1alpha1",
			"kind": "TrainJob",
			"metadata": {"name": "run-1", "namespace": "team"},
			"spec": {"runtimeRef": {"name": "tf"}, "trainer": {"numNodes": 2}},
		},
		{
			"apiVersion": "trainer.kubeflow.org/v1alpha1",
			"kind": "ClusterTrainingRuntime",
			"metadata": {"name": "tf", "labels": {"trainer.kubeflow.org/framework": "tensorflow"}},
			"spec": {"mlPolicy": {"numNodes": 2}, "template": {"spec": jobset_spec}},
		},
		{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}},
	],
	"members": [true, true, true],
	"cluster_scoped": ["ClusterTrainingRuntime.trainer.kubeflow.org", "Namespace"],
	"namespaced": ["TrainJob.trainer.kubeflow.org", "JobSet.jobset.x-k8s.io", "ConfigMap"],
	"workloads": [{
		"index": 0,
		"object": 0,
		"kind": "TrainJob",
		"name": "run-1",
		"namespace": "team",
		"runtime": 1,
		"framework": "tensorflow",
		"tensorflow": true,
		"mlPolicy": {"numNodes": 2},
		"podGroupPolicy": {},
		"jobset": {"metadata": {}, "spec": jobset_spec},
		"pods": [pods("node", 0, 2)],
		"demand": {},
	}],
}

# The runtime alone: object 1 of the above as the only workload.
runtime := json.patch(trainjob, [
	{"op": "replace", "path": "/workloads/0/kind", "value": "ClusterTrainingRuntime"},
	{"op": "replace", "path": "/workloads/0/name", "value": "tf"},
	{"op": "replace", "path": "/workloads/0/namespace", "value": ""},
	{"op": "replace", "path": "/workloads/0/object", "value": 1},
	{"op": "remove", "path": "/objects/0"},
	{"op": "add", "path": "/objects/0", "value": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}},
])

# A bare JobSet of one leader and three workers (object 0, workload 0).
jobset := {
	"cluster": null,
	"objects": [{
		"apiVersion": "jobset.x-k8s.io/v1alpha2",
		"kind": "JobSet",
		"metadata": {"name": "set-1", "namespace": "team"},
	}],
	"members": [true],
	"cluster_scoped": [],
	"namespaced": [],
	"workloads": [{
		"index": 0,
		"object": 0,
		"kind": "JobSet",
		"name": "set-1",
		"namespace": "team",
		"runtime": null,
		"framework": "",
		"tensorflow": true,
		"mlPolicy": {},
		"podGroupPolicy": {},
		"jobset": {"metadata": {}, "spec": object.union(
			jobset_spec,
			{"replicatedJobs": [job("leader", 1), job("worker", 3)]},
		)},
		"pods": [pods("leader", 0, 1), pods("worker", 1, 3)],
		"demand": {},
	}],
}

# One worker alone: no gang.
single := json.patch(trainjob, [{"op": "replace", "path": "/workloads/0/pods/0/count", "value": 1}])

# Two pods of another framework.
torch := json.patch(trainjob, [
	{"op": "replace", "path": "/workloads/0/pods/0/tensorflow", "value": false},
	{"op": "replace", "path": "/workloads/0/tensorflow", "value": false},
	{"op": "replace", "path": "/workloads/0/framework", "value": "torch"},
])

jobset_spec := {
	"network": {"publishNotReadyAddresses": true},
	"failurePolicy": {"maxRestarts": 3},
	"replicatedJobs": [object.union(
		job("node", 2),
		{"template": {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}}},
	)],
}

job(name, count) := {"name": name, "template": {"spec": {
	"parallelism": count,
	"completions": count,
	"backoffLimit": 0,
	"template": {"spec": {
		"restartPolicy": "Never",
		"containers": [{"name": "node", "image": "registry.example/tensorflow:2.15", "env": []}],
	}},
}}}

pods(name, index, count) := {
	"replicatedJob": index,
	"name": name,
	"count": count,
	"trainer": name == "node",
	"tensorflow": true,
	"requests": {},
	"limits": {},
}

# Patches one field of the first workload's first Job, its pod spec or its first container; "" is the JobSet's spec.
replicated_job := "/workloads/0/jobset/spec/replicatedJobs/0"

with_spec(document, field, value) := set(document, "/workloads/0/jobset/spec", field, value)

with_job(document, field, value) := set(document, sprintf("%s/template/spec", [replicated_job]), field, value)

with_pod(document, field, value) := set(document, sprintf("%s/template/spec/template/spec", [replicated_job]), field, value)

with_container(document, field, value) := set(
	document,
	sprintf("%s/template/spec/template/spec/containers/0", [replicated_job]),
	field, value,
)

set(document, place, field, null) := json.patch(document, [{"op": "remove", "path": sprintf("%s/%s", [place, field])}])

set(document, place, field, value) := json.patch(document, [{"op": "add", "path": sprintf("%s/%s", [place, field]), "value": value}]) if {
	value != null
}

# Replaces a value of the runtime object (object 1).
with_runtime(document, path, value) := set(document, "/objects/1", path, value)

with_trainjob(document, path, value) := set(document, "/objects/0", path, value)

# Findings as the rules make them.
in_workload(path, message) := {"workload": 0, "path": path, "message": message}

at(object, path, message) := {"object": object, "path": path, "message": message}

# The paths of the first Job, its pod spec and its first container in the effective JobSet.
job_path(rest) := array.concat(["spec", "replicatedJobs", 0, "template", "spec"], rest)

pod_path(rest) := job_path(array.concat(["template", "spec"], rest))

container_path(rest) := pod_path(array.concat(["containers", 0], rest))
