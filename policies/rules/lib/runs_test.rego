# Inputs for the tests of rules about queues, nodes, resources and InfiniBand: each is right in every respect,
# a test patches what it is about.
package rules_test.runs

# A TrainJob of two pods with 8 GPUs each, queued by Kueue.
kueue := {
	"cluster": {
		"name": "west",
		"versions": {"kubernetes": "1.35", "trainer": "2.3.0", "jobset": "0.12.0", "kueue": "0.17.0"},
		"nodes": [{"pool": "a100", "count": 4, "allocatable": {"cpu": "96", "memory": "900Gi", "nvidia.com/gpu": "8"}}],
		"network": {"interface": "eth0"},
		"external": [],
	},
	"objects": [
		{
			"apiVersion": "trainer.kubeflow.org/v1alpha1",
			"kind": "TrainJob",
			"metadata": {"name": "sky", "namespace": "survey", "labels": {"kueue.x-k8s.io/queue-name": "day"}},
			"spec": {"runtimeRef": {"name": "tf-sky"}, "trainer": {"numNodes": 2}},
		},
		{
			"apiVersion": "trainer.kubeflow.org/v1alpha1",
			"kind": "ClusterTrainingRuntime",
			"metadata": {"name": "tf-sky"},
			"spec": {"template": {"metadata": {"labels": {}}, "spec": {"replicatedJobs": [{
				"name": "node",
				"template": {"metadata": {"labels": {}}, "spec": {"template": {"metadata": {"labels": {}}}}},
			}]}}},
		},
		{
			"apiVersion": "kueue.x-k8s.io/v1beta2",
			"kind": "LocalQueue",
			"metadata": {"name": "day", "namespace": "survey"},
			"spec": {"clusterQueue": "survey"},
		},
		{
			"apiVersion": "kueue.x-k8s.io/v1beta2",
			"kind": "ClusterQueue",
			"metadata": {"name": "survey"},
			"spec": {
				"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "survey"}},
				"resourceGroups": [{
					"coveredResources": ["cpu", "memory", "nvidia.com/gpu"],
					"flavors": [{"name": "a100", "resources": [
						{"name": "cpu", "nominalQuota": "200"},
						{"name": "memory", "nominalQuota": "1Ti"},
						{"name": "nvidia.com/gpu", "nominalQuota": 16},
					]}],
				}],
			},
		},
		{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "a100"}},
		{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "survey", "labels": {"team": "sky"}}},
	],
	"workloads": [{
		"index": 0,
		"object": 0,
		"kind": "TrainJob",
		"name": "sky",
		"namespace": "survey",
		"runtime": 1,
		"framework": "tensorflow",
		"tensorflow": true,
		"mlPolicy": {"numNodes": 2},
		"podGroupPolicy": {},
		"jobset": {
			"metadata": {"labels": {}, "annotations": {}},
			"spec": {"replicatedJobs": [{"name": "node", "replicas": 1, "template": {
				"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}, "annotations": {}},
				"spec": {"parallelism": 2, "completions": 2, "template": {
					"metadata": {"labels": {}, "annotations": {}},
					"spec": {
						"securityContext": {},
						"containers": [{
							"name": "node",
							"image": "nvcr.io/nvidia/tensorflow:24.03-tf2-py3",
							"env": [{"name": "NCCL_SOCKET_IFNAME", "value": "eth0"}, {"name": "NCCL_IB_DISABLE", "value": "1"}],
							"securityContext": {"capabilities": {"drop": ["ALL"]}},
							"resources": {
								"requests": {"cpu": "80", "memory": "512Gi", "nvidia.com/gpu": "8"},
								"limits": {"cpu": "80", "memory": "512Gi", "nvidia.com/gpu": "8"},
							},
							"volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
						}],
						"volumes": [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "64Gi"}}],
					},
				}},
			}}]},
		},
		"pods": [{
			"replicatedJob": 0,
			"name": "node",
			"count": 2,
			"trainer": true,
			"tensorflow": true,
			"requests": {"cpu": 80, "memory": 549755813888, "nvidia.com/gpu": 8},
			"limits": {"cpu": 80, "memory": 549755813888, "nvidia.com/gpu": 8},
		}],
		"demand": {"cpu": 160, "memory": 1099511627776, "nvidia.com/gpu": 16},
	}],
}

# The same without the queue label, as a gang of Volcano.
volcano := json.patch(kueue, [
	{"op": "replace", "path": "/cluster/versions", "value": {"kubernetes": "1.35", "trainer": "2.3.0", "jobset": "0.12.0", "volcano": "1.14.1"}},
	{"op": "replace", "path": "/objects/0/metadata/labels", "value": {}},
	{"op": "add", "path": "/objects/1/metadata/annotations", "value": {}},
	{"op": "replace", "path": "/objects/2", "value": {
		"apiVersion": "scheduling.volcano.sh/v1beta1",
		"kind": "Queue",
		"metadata": {"name": "survey"},
		"spec": {"capability": {"cpu": "160", "memory": "1Ti", "nvidia.com/gpu": "16"}},
	}},
	{"op": "replace", "path": "/workloads/0/podGroupPolicy", "value": {"volcano": {}}},
	{"op": "replace", "path": "/workloads/0/jobset/metadata/annotations", "value": {"scheduling.volcano.sh/queue-name": "survey"}},
	{"op": "add", "path": sprintf("%s/schedulerName", [pod]), "value": "volcano"},
])

# The same with InfiniBand, queued by Kueue.
infiniband := json.patch(kueue, [
	{"op": "add", "path": "/cluster/network/infiniband", "value": {"resource": "nvidia.com/hostdev", "perPod": 1, "attachment": "hostdevice-net"}},
	{"op": "add", "path": "/cluster/nodes/0/allocatable/nvidia.com~1hostdev", "value": "1"},
	{"op": "add", "path": "/objects/3/spec/resourceGroups/0/coveredResources/-", "value": "nvidia.com/hostdev"},
	{"op": "add", "path": "/objects/3/spec/resourceGroups/0/flavors/0/resources/-", "value": {"name": "nvidia.com/hostdev", "nominalQuota": 2}},
	{"op": "add", "path": sprintf("%s/resources/requests/nvidia.com~1hostdev", [node]), "value": "1"},
	{"op": "add", "path": sprintf("%s/resources/limits/nvidia.com~1hostdev", [node]), "value": "1"},
	{"op": "add", "path": sprintf("%s/securityContext/capabilities/add", [node]), "value": ["IPC_LOCK"]},
	{"op": "replace", "path": sprintf("%s/env/1/value", [node]), "value": "0"},
	{"op": "add", "path": sprintf("%s/metadata/annotations/k8s.v1.cni.cncf.io~1networks", [template]), "value": "hostdevice-net"},
	{"op": "add", "path": "/workloads/0/pods/0/requests/nvidia.com~1hostdev", "value": 1},
	{"op": "add", "path": "/workloads/0/demand/nvidia.com~1hostdev", "value": 2},
])

# A JobSet that nothing owns, of the same pods.
jobset(from) := json.patch(from, [
	{"op": "replace", "path": "/objects/0", "value": {
		"apiVersion": "jobset.x-k8s.io/v1alpha2",
		"kind": "JobSet",
		"metadata": {"name": "sky", "namespace": "survey", "labels": {"kueue.x-k8s.io/queue-name": "day"}},
		"spec": from.workloads[0].jobset.spec,
	}},
	{"op": "replace", "path": "/workloads/0/kind", "value": "JobSet"},
	{"op": "replace", "path": "/workloads/0/runtime", "value": null},
	{"op": "replace", "path": "/workloads/0/podGroupPolicy", "value": {}},
])

# The pointers that tests need, and their form as the path of a finding.
job := "/workloads/0/jobset/spec/replicatedJobs/0/template"

template := sprintf("%s/spec/template", [job])

pod := sprintf("%s/spec", [template])

node := sprintf("%s/containers/0", [pod])

parallelism := ["spec", "replicatedJobs", 0, "template", "spec", "parallelism"]

pod_path := ["spec", "replicatedJobs", 0, "template", "spec", "template", "spec"]

template_path := ["spec", "replicatedJobs", 0, "template", "spec", "template"]

node_path := array.concat(pod_path, ["containers", 0])

# Patches.
set(pointer, value) := {"op": "add", "path": pointer, "value": value}

# In a list, where `set` would insert.
put(pointer, value) := {"op": "replace", "path": pointer, "value": value}

drop(pointer) := {"op": "remove", "path": pointer}

queue_label := "/objects/0/metadata/labels/kueue.x-k8s.io~1queue-name"

# Another number of the same pods.
pods(number) := [
	set("/workloads/0/pods/0/count", number),
	set("/workloads/0/demand", {r: all | some r, n in kueue.workloads[0].pods[0].requests; all := n * number}),
]
