package rules_test.refs.objects_exist

import data.rules.refs.objects_exist.report
import data.rules_test.fixture

absent(path, message) := fixture.in_workload(fixture.pod_path(path), message)

# What the pod spec refers to: the field, its value, the path to the name and the message.
references := [
	[
		"volumes", [{"name": "v", "configMap": {"name": "x"}}], ["volumes", 0, "configMap", "name"],
		"ConfigMap x does not exist in namespace team: the pods wait for it and never start",
	],
	[
		"volumes", [{"name": "v", "secret": {"secretName": "x"}}], ["volumes", 0, "secret", "secretName"],
		"Secret x does not exist in namespace team: the pods wait for it and never start",
	],
	[
		"volumes", [{"name": "v", "projected": {"sources": [{"downwardAPI": {}}, {"secret": {"name": "x"}}]}}],
		["volumes", 0, "projected", "sources", 1, "secret", "name"],
		"Secret x does not exist in namespace team: the pods wait for it and never start",
	],
	[
		"volumes", [{"name": "shm", "emptyDir": {}}, {"name": "v", "persistentVolumeClaim": {"claimName": "x"}}],
		["volumes", 1, "persistentVolumeClaim", "claimName"],
		"PersistentVolumeClaim x does not exist in namespace team: the pods are never scheduled",
	],
	[
		"containers", [{"name": "node", "envFrom": [{"configMapRef": {"name": "x"}}]}],
		["containers", 0, "envFrom", 0, "configMapRef", "name"],
		"ConfigMap x does not exist in namespace team: the pods wait for it and never start",
	],
	[
		"initContainers", [{"name": "copy", "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "x", "key": "k"}}}]}],
		["initContainers", 0, "env", 0, "valueFrom", "secretKeyRef", "name"],
		"Secret x does not exist in namespace team: the pods wait for it and never start",
	],
	[
		"imagePullSecrets", [{"name": "x"}], ["imagePullSecrets", 0, "name"],
		"Secret x does not exist in namespace team: the images are pulled without it",
	],
	[
		"serviceAccountName", "x", ["serviceAccountName"],
		"ServiceAccount x does not exist in namespace team: no pod can be made",
	],
	[
		"priorityClassName", "x", ["priorityClassName"],
		"PriorityClass x does not exist: no pod can be made",
	],
	[
		"runtimeClassName", "x", ["runtimeClassName"],
		"RuntimeClass x does not exist: no pod can be made",
	],
]

severity(field) := {"severity": "warning"} if {
	field == "imagePullSecrets"
} else := {}

test_fail_each_reference if {
	every reference in references {
		[field, value, path, message] := reference
		every document in [fixture.trainjob, fixture.jobset] {
			report == {object.union(absent(path, message), severity(field))} with input as fixture.with_pod(document, field, value)
		}
	}
}

volume(source) := fixture.with_pod(fixture.trainjob, "volumes", [{"name": "v", "configMap": source}])

config_map(namespace, name) := {
	"apiVersion": "v1",
	"kind": "ConfigMap",
	"metadata": {"name": name, "namespace": namespace},
	"data": {"a": "1"},
	"binaryData": {"b": "MQ=="},
}

with_object(document, manifest) := fixture.set(document, "/objects", "-", manifest)

test_fail_hash_not_followed if {
	report == {object.union(
		absent(
			["volumes", 0, "configMap", "name"],
			"ConfigMap code does not exist in namespace team: the pods wait for it and never start",
		),
		{"fix": "Write the new name (there is eu-code-7f5m), or let a kustomize `configurations:` file (nameReference) follow it."},
	)} with input as with_object(volume({"name": "code"}), config_map("team", "eu-code-7f5m"))
}

test_fail_other_namespace if {
	report == {absent(
		["volumes", 0, "configMap", "name"],
		"ConfigMap code does not exist in namespace team: the pods wait for it and never start",
	)} with input as with_object(volume({"name": "code"}), config_map("other", "code"))
}

test_fail_key if {
	report == {absent(
		["volumes", 0, "configMap", "items", 1, "key"],
		"ConfigMap code has no key c (it has: a, b): the pods wait for it and never start",
	)} with input as with_object(volume({"name": "code", "items": [{"key": "a"}, {"key": "c"}]}), config_map("team", "code"))
}

test_fail_key_of_env if {
	env := [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "code", "key": "z"}}}]
	report == {fixture.in_workload(
		fixture.container_path(["env", 0, "valueFrom", "configMapKeyRef", "key"]),
		"ConfigMap code has no key z (it has: a, b): the pods wait for it and never start",
	)} with input as with_object(fixture.with_container(fixture.jobset, "env", env), config_map("team", "code"))
}

test_success_there if {
	report == set() with input as with_object(volume({"name": "code", "items": [{"key": "b"}]}), config_map("team", "code"))
}

test_success_optional if {
	report == set() with input as volume({"name": "code", "optional": true})
	env := [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "code", "key": "z", "optional": true}}}]
	report == set() with input as with_object(fixture.with_container(fixture.trainjob, "env", env), config_map("team", "code"))
}

test_success_made_by_others if {
	every name in ["kube-root-ca.crt", "run-1-runtime-snapshot", "run-1-tls-config"] {
		report == set() with input as volume({"name": name})
	}
	report == set() with input as fixture.with_pod(fixture.trainjob, "serviceAccountName", "default")
	report == set() with input as fixture.with_pod(fixture.trainjob, "priorityClassName", "system-node-critical")
}

test_success_runtime_class if {
	report == set() with input as fixture.with_pod(fixture.trainjob, "runtimeClassName", "nvidia")
	kata := fixture.with_pod(fixture.trainjob, "runtimeClassName", "kata")
	report == set() with input as fixture.set(kata, "/cluster/external", "-", {"kind": "RuntimeClass", "namespace": "", "name": "kata"})
	report == set() with input as fixture.set(kata, "/objects", "-", {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "kata"}, "handler": "kata"})
}

test_success_external if {
	external := {"kind": "ConfigMap", "namespace": "team", "name": "code"}
	report == set() with input as fixture.set(volume({"name": "code"}), "/cluster/external", "-", external)
}

test_success_runtime_alone if {
	report == set() with input as fixture.with_pod(fixture.runtime, "serviceAccountName", "x")
}

# Pods of any framework are looked at.
test_fail_not_tensorflow if {
	report == {absent(
		["serviceAccountName"],
		"ServiceAccount x does not exist in namespace team: no pod can be made",
	)} with input as fixture.with_pod(fixture.torch, "serviceAccountName", "x")
}
