# METADATA
# title: What pods refer to exists
# description: |
#   A pod whose ConfigMap, Secret, claim, priority class or runtime class does not exist waits in ContainerCreating or Pending, or is not
#   made at all; its gang waits for it and holds what it was admitted with. Images are pulled without a Secret of
#   imagePullSecrets that does not exist, which fails where the registry asks for it. The usual cause is a generated name
#   (hash, prefix, suffix) that kustomize does not follow into custom resources.
# related_resources:
# - ref: https://github.com/kubernetes-sigs/kustomize/issues/4674
#   description: names in custom resources
# - ref: https://kubernetes.io/docs/concepts/configuration/configmap/#configmaps-and-pods
#   description: a pod and its ConfigMaps are in one namespace
# custom:
#   symptoms:
#   - "CreateContainerConfigError, MountVolume.SetUp failed: configmap not found"
#   - "pod rejected: RuntimeClass not found"
#   seen:
#   - "lab: tests/lab/test_gate_and_cluster.py::test_without_their_config_map_the_containers_are_never_made"
#   - "lab: tests/lab/test_gate_and_cluster.py::test_without_its_secret_its_key_or_its_claim_no_container_is_made"
#   - "lab: tests/lab/test_gate_and_cluster.py::test_without_its_service_account_no_pod_is_made"
#   - "lab: tests/lab/test_gate_and_cluster.py::test_without_its_pull_secret_a_run_pulls_all_the_same"
#   - "lab: tests/lab/test_admitted.py::test_without_its_runtime_class_no_pod_is_made"
#   - "lab: tests/lab/test_admitted.py::test_without_its_priority_class_a_run_has_no_workload"
#   - "source: kubernetes pkg/kubelet/kubelet_pods.go"
#   - "source: kubernetes plugin/pkg/admission/priority/admission.go"
#   - "source: kubernetes plugin/pkg/admission/runtimeclass/admission.go"
#   severity: error
#   needs: cluster
#   fix: |
#     Write the name of an existing object of this namespace, let a kustomize `configurations:` file (nameReference) follow
#     its name, or list it under `external` in cluster.yaml if it is not in this repository.
#   example: |
#     containers:
#     - name: node
#       envFrom:
#       - configMapRef: {name: no-such-settings}
package rules.refs.objects_exist

import data.lib
import data.lib.references

report contains object.union(lib.in_workload(r.workload, r.path, message), object.union(hint(r), severity(r))) if {
	some r in references.found
	not exists(r)
	message := sprintf("%s %s does not exist%s: %s", [r.kind, r.name, where(r), what_follows(r)])
}

report contains lib.in_workload(r.workload, r.key_path, message) if {
	some r in references.found
	some manifest in lib.objects_named(r.group, r.kind, r.name)
	object.get(manifest.metadata, "namespace", "") == r.namespace
	keys := {key | some field in ["data", "stringData", "binaryData"]; some key, _ in manifest[field]}
	not r.key in keys
	message := sprintf("%s %s has no key %s (it has: %s): the pods wait for it and never start", [
		r.kind,
		r.name,
		r.key,
		lib.joined(keys),
	])
}

exists(r) if lib.exists(r.group, r.kind, r.namespace, r.name)

exists(r) if r.name in built_in[r.kind]

exists(r) if {
	r.kind == "PriorityClass"
	startswith(r.name, "system-")
}

# What Trainer makes for a TrainJob.
exists(r) if {
	r.workload.kind == "TrainJob"
	some suffix in made_by_trainer[r.kind]
	r.name == concat("", [r.workload.name, suffix])
}

built_in := {
	"ConfigMap": {"kube-root-ca.crt", "openshift-service-ca.crt"},
	"ServiceAccount": {"default"},
	"RuntimeClass": {"nvidia", "nvidia-cdi", "nvidia-legacy"}, # what NVIDIA's GPU operator makes
}

made_by_trainer := {
	"ConfigMap": {"-runtime-snapshot", "-tls-config", "-mpi-hostfile", "-flux-entrypoint"},
	"Secret": {"-mpi-ssh-auth", "-flux-curve"},
}

# The registry may ask for none, or the node have the image.
severity(r) := {"severity": "warning"} if {
	"imagePullSecrets" in r.path
} else := {}

where(r) := "" if r.namespace == ""

where(r) := sprintf(" in namespace %s", [r.namespace]) if r.namespace != ""

what_follows(r) := "the images are pulled without it" if "imagePullSecrets" in r.path

what_follows(r) := consequence[r.kind] if not "imagePullSecrets" in r.path

consequence := {
	"ConfigMap": "the pods wait for it and never start",
	"Secret": "the pods wait for it and never start",
	"PersistentVolumeClaim": "the pods are never scheduled",
	"ServiceAccount": "no pod can be made",
	"PriorityClass": "no pod can be made",
	"RuntimeClass": "no pod can be made",
}

# An object of that name elsewhere, or one whose name only has a prefix or suffix more, is most likely meant.
hint(r) := {"fix": sprintf("Write the new name (there is %s), or let a kustomize `configurations:` file (nameReference) follow it.", [near])} if {
	alike := {manifest.metadata.name |
		some manifest in lib.objects(r.group, r.kind)
		object.get(manifest.metadata, "namespace", "") == r.namespace
		contains(manifest.metadata.name, r.name)
	}
	count(alike) > 0
	near := lib.joined(alike)
} else := {}
