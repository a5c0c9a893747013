# METADATA
# title: What every rule builds on
# description: |
#   Views of the input and the two constructors of a finding. The input is one target:
#   its objects, its workloads (each TrainJob, bare JobSet and unused runtime as the JobSet that will run)
#   and the facts of the cluster, null where the target is judged without one.
package lib

# --- findings ---------------------------------------------------------------------------------------------------

# A finding on an object of the input: `object` is its index in input.objects, `path` leads to the field
# (also to one that is absent: the gate finds the nearest existing ancestor and names the missing path).
at(object, path, message) := {"object": object, "path": path, "message": message}

# A finding on a workload: `path` leads into its effective JobSet. The gate maps it to the object
# (runtime, TrainJob, runtimePatch) that the value came from.
in_workload(workload, path, message) := {"workload": workload.index, "path": path, "message": message}

# A finding on the facts of the cluster: `path` leads into cluster.yaml.
of_cluster(path, message) := {"facts": true, "path": path, "message": message}

# --- objects ----------------------------------------------------------------------------------------------------

# All objects of a kind in an API group ("" for core), as {index: manifest}.
objects(group, kind) := object.get(by_kind, [[group, kind]], {})

# Those of one name, in every namespace.
objects_named(group, kind, name) := object.get(by_name, [[group, kind, name]], {})

# Comprehensions of this form are looked up in an index: OPA goes over many objects once, and not once for each of them.
by_kind := {kind: found |
	some kind in kinds
	found := {i: input.objects[i] | some i; kinds[i] == kind}
}

by_name := {id: found |
	some id in ids
	found := {i: input.objects[i] | some i; ids[i] == id}
}

kinds := {i: [api_group(o), o.kind] | some i, o in input.objects}

ids := {i: [api_group(o), o.kind, o.metadata.name] | some i, o in input.objects}

api_group(object) := "" if not contains(object.apiVersion, "/")

api_group(object) := split(object.apiVersion, "/")[0] if contains(object.apiVersion, "/")

# The name of an object's kind as the facts and `external` write it.
title(object) := sprintf("%s/%s/%s", [object.kind, object.metadata.namespace, object.metadata.name]) if {
	object.metadata.namespace
}

title(object) := sprintf("%s/%s", [object.kind, object.metadata.name]) if not object.metadata.namespace

# Whether an object exists: in the target, beside it in its cluster, or outside the repository (`external`).
# Of a cluster-scoped one (namespace "") a namespace that it wrongly carries is another rule's business.
exists(group, kind, namespace, name) if {
	some o in objects_named(group, kind, name)
	namespace in {"", object.get(o.metadata, "namespace", "")}
}

exists(_, kind, namespace, name) if {
	some e in input.cluster.external
	e.kind == kind
	e.name == name
	e.namespace in {namespace, ""}
}

# The kind of an object as input.cluster_scoped and input.namespaced name it: TrainJob.trainer.kubeflow.org, Secret.
kind_id(object) := concat(".", [part | some part in [object.kind, api_group(object)]; part != ""])

# Runtimes of both scopes, as {index: manifest}.
runtimes := object.union(
	objects("trainer.kubeflow.org", "ClusterTrainingRuntime"),
	objects("trainer.kubeflow.org", "TrainingRuntime"),
)

# The label by which Trainer finds the Jobs of a runtime that it has to fill in, and the container that each must have.
ancestor_label := "trainer.kubeflow.org/trainjob-ancestor-step"

ancestor_containers := {
	"trainer": "node",
	"dataset-initializer": "dataset-initializer",
	"model-initializer": "model-initializer",
}

ancestor(replicated_job) := object.get(replicated_job, ["template", "metadata", "labels", ancestor_label], "")

# Names of the existing objects of a kind, for messages: "a, b" or "none".
names(group, kind, namespace) := joined([o.metadata.name |
	some o in objects(group, kind)
	namespace in {"", object.get(o.metadata, "namespace", "")}
])

joined(list) := concat(", ", sort(list)) if count(list) > 0

joined(list) := "none" if count(list) == 0

# The items of a type in the LimitRanges of a workload's namespace, each with its LimitRange's name.
limit_ranges(workload, type) := [{"name": range.metadata.name, "item": item} |
	some range in objects("", "LimitRange")
	object.get(range.metadata, "namespace", "") == workload.namespace
	some item in range.spec.limits
	item.type == type
]

# --- the cluster ------------------------------------------------------------------------------------------------

has_kueue if input.cluster.versions.kueue

has_volcano if input.cluster.versions.volcano

# Whether they may be there: where no cluster is given, nobody knows.
kueue_may_exist if has_kueue

kueue_may_exist if input.cluster == null

volcano_may_exist if has_volcano

volcano_may_exist if input.cluster == null

# What the cluster's facts say of InfiniBand: undefined where there is none or no cluster is given.
fabric := input.cluster.network.infiniband

# --- workloads --------------------------------------------------------------------------------------------------

# Workloads whose effective JobSet is known (a TrainJob whose runtime does not exist has none).
workloads := [w | some w in input.workloads; w.jobset != null]

# Pod templates of a gang: the pods that TensorFlow's workers run in. A workload of one worker is no gang.
gangs := [{"workload": w, "pod": p} |
	some w in workloads
	some p in w.pods
	p.tensorflow
	gang_size(w) > 1
]

gang_size(workload) := sum([p.count | some p in workload.pods; p.tensorflow])

# Pod templates that run TensorFlow, however many they are.
tensorflow_pods := [{"workload": w, "pod": p} | some w in workloads; some p in w.pods; p.tensorflow]

# Every pod template of every workload.
all_pods := [g | some w in workloads; some g in pods_of(w)]

pods_of(workload) := [{"workload": workload, "pod": p} | workload.jobset != null; some p in workload.pods]

# The replicatedJob that a pod template belongs to, the Job's spec, the pod template and its spec.
replicated_job(g) := g.workload.jobset.spec.replicatedJobs[g.pod.replicatedJob]

job_spec(g) := replicated_job(g).template.spec

template(g) := job_spec(g).template

pod_spec(g) := template(g).spec

# Paths in the effective JobSet.
job_path(g, rest) := array.concat(["spec", "replicatedJobs", g.pod.replicatedJob, "template", "spec"], rest)

template_path(g, rest) := job_path(g, array.concat(["template"], rest))

pod_path(g, rest) := template_path(g, array.concat(["spec"], rest))

container_path(g, i, rest) := pod_path(g, array.concat(["containers", i], rest))

# The containers of a pod template with their index (init containers are not among them).
containers(g) := {i: c | some i, c in object.get(pod_spec(g), "containers", [])}

# The index of the container that trains: `node` (the first, where there are two by mistake), or the only one.
trainer_container(g) := min({i | some i, c in containers(g); c.name == "node"})

trainer_container(g) := 0 if {
	cs := containers(g)
	count(cs) == 1
	cs[0].name != "node"
}

# The last entry of an environment variable in a container, as Kubernetes applies it: {"index", "entry"}.
env(container, name) := {"index": last, "entry": container.env[last]} if {
	indices := [i | some i, e in container.env; e.name == name]
	count(indices) > 0
	last := indices[count(indices) - 1]
}

# Containers and init containers of a pod template, each with its path in the JobSet and in the pod spec.
pod_containers(g) := [{"path": pod_path(g, [list, i]), "rest": [list, i], "container": c} |
	some list in ["containers", "initContainers"]
	some i, c in object.get(pod_spec(g), list, [])
]

# The index of the runtime that a workload is made from, or that it is.
runtime_of(workload) := workload.object if endswith(workload.kind, "TrainingRuntime")

runtime_of(workload) := workload.runtime if {
	not endswith(workload.kind, "TrainingRuntime")
	workload.runtime != null
}

# JobSet's in-place restart, as it has to be written: the Jobs never fail, an agent restarts all containers.
restarts_in_place(workload) if {
	workload.jobset.spec.failurePolicy.restartStrategy == "InPlaceRestart"
	every job in workload.jobset.spec.replicatedJobs { job.template.spec.backoffLimit == max_int32 }
}

max_int32 := 2147483647

# --- labels -----------------------------------------------------------------------------------------------------

# Whether an expression of matchExpressions says no to a label's value, null where there is no such label.
unmet(e, value) if {
	e.operator == "In"
	not value in e.values
}

unmet(e, value) if {
	e.operator == "NotIn"
	value in e.values
}

unmet(e, value) if {
	e.operator == "Exists"
	value == null
}

unmet(e, value) if {
	e.operator == "DoesNotExist"
	value != null
}

# --- quantities -------------------------------------------------------------------------------------------------

# A Kubernetes quantity as a number: 2, "2", "500m", "3600Gi". Undefined where it is none.
quantity(q) := q if is_number(q)

quantity(q) := units.parse(q) if is_string(q)

# Extended resources have a domain: nvidia.com/gpu. Native ones with a slash do not count as extended.
extended(resource) if {
	contains(resource, "/")
	not contains(split(resource, "/")[0], "kubernetes.io")
}

# What a container asks for of a resource: its request, else its limit, else 0.
container_request(container, resource) := quantity(asked) if {
	resources := object.get(container, "resources", {})
	limit := object.get(resources, ["limits", resource], 0)
	asked := object.get(resources, ["requests", resource], limit)
}
