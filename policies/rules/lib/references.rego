# METADATA
# title: What pods refer to
# description: |
#   Every reference of the effective pods of TrainJobs and JobSets to an object of their namespace, optional ones left
#   out. A runtime alone has no namespace, so its references lead nowhere yet.
package lib.references

import data.lib

# {workload, group, kind, namespace, name, path} and, where one key of the object is named, {key, key_path}.

found contains reference(g, "PersistentVolumeClaim", name, path) if {
	some g in pods
	some i, volume in lib.pod_spec(g).volumes
	name := volume.persistentVolumeClaim.claimName
	path := ["volumes", i, "persistentVolumeClaim", "claimName"]
}

found contains reference(v.g, v.kind, v.name, v.path) if some v in files

found contains keyed(v.g, reference(v.g, v.kind, v.name, v.path), item.key, path) if {
	some v in files
	some n, item in v.items
	path := array.concat(v.items_path, [n, "key"])
}

found contains reference(g, kind, name, array.concat(c.rest, ["envFrom", n, field, "name"])) if {
	some g in pods
	some c in lib.pod_containers(g)
	some n, source in c.container.envFrom
	some field, kind in {"configMapRef": "ConfigMap", "secretRef": "Secret"}
	not source[field].optional
	name := source[field].name
}

found contains keyed(g, reference(g, kind, source.name, array.concat(path, ["name"])), source.key, array.concat(path, ["key"])) if {
	some g in pods
	some c in lib.pod_containers(g)
	some n, variable in c.container.env
	some field, kind in {"configMapKeyRef": "ConfigMap", "secretKeyRef": "Secret"}
	source := variable.valueFrom[field]
	not source.optional
	path := array.concat(c.rest, ["env", n, "valueFrom", field])
}

found contains reference(g, "Secret", secret.name, ["imagePullSecrets", i, "name"]) if {
	some g in pods
	some i, secret in lib.pod_spec(g).imagePullSecrets
}

found contains reference(g, "ServiceAccount", name, ["serviceAccountName"]) if {
	some g in pods
	name := lib.pod_spec(g).serviceAccountName
	name != ""
}

found contains object.union(
	reference(g, "PriorityClass", name, ["priorityClassName"]),
	{"group": "scheduling.k8s.io", "namespace": ""},
) if {
	some g in pods
	name := lib.pod_spec(g).priorityClassName
	name != ""
}

found contains object.union(
	reference(g, "RuntimeClass", name, ["runtimeClassName"]),
	{"group": "node.k8s.io", "namespace": ""},
) if {
	some g in pods
	name := lib.pod_spec(g).runtimeClassName
}

# Volumes made of a ConfigMap or Secret, projected ones among them.
files contains file(g, volume[source], source, field, ["volumes", i, source]) if {
	some g in pods
	some i, volume in lib.pod_spec(g).volumes
	some source, field in {"configMap": "name", "secret": "secretName"}
	not volume[source].optional
}

files contains file(g, projected[source], source, "name", path) if {
	some g in pods
	some i, volume in lib.pod_spec(g).volumes
	some n, projected in volume.projected.sources
	some source in ["configMap", "secret"]
	not projected[source].optional
	path := ["volumes", i, "projected", "sources", n, source]
}

file(g, given, source, field, path) := {
	"g": g,
	"kind": {"configMap": "ConfigMap", "secret": "Secret"}[source],
	"name": given[field],
	"path": array.concat(path, [field]),
	"items": object.get(given, "items", []),
	"items_path": array.concat(path, ["items"]),
}

pods := [g |
	some g in lib.all_pods
	not endswith(g.workload.kind, "TrainingRuntime")
	g.workload.namespace != ""
]

reference(g, kind, name, path) := {
	"workload": {"index": g.workload.index, "kind": g.workload.kind, "name": g.workload.name},
	"group": "",
	"kind": kind,
	"namespace": g.workload.namespace,
	"name": name,
	"path": lib.pod_path(g, path),
}

keyed(g, reference_, key, path) := object.union(reference_, {"key": key, "key_path": lib.pod_path(g, path)})
