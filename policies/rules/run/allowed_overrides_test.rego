package rules_test.run.allowed_overrides

import data.rules.run.allowed_overrides.report
import data.rules_test.fixture

pod_template := ["spec", "runtimePatches", 0, "trainingRuntimeSpec", "template", "spec", "replicatedJobs", 0, "template", "spec", "template"]

# The fixture's run with one patch of its pod template.
patched(template) := fixture.with_trainjob(fixture.trainjob, "spec/runtimePatches", [{
	"manager": "team.example/run",
	"trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": template}}}]}}},
}])

# The same on a cluster that says what runs may bring.
decided(template, runs) := json.patch(patched(template), [{"op": "add", "path": "/cluster/runs", "value": runs}])

spec(fields) := {"spec": fields}

context(fields) := spec({"containers": [{"name": "node", "securityContext": fields}]})

mounting(path) := spec({"volumes": [{"name": "data", "hostPath": {"path": path}}]})

# The severities and ends of paths that a document's findings have.
severities(document) := {[finding.severity, finding.path[count(finding.path) - 1]] | some finding in report with input as document}

errors(document) := {finding.message | some finding in report with input as document; finding.severity == "error"}

test_fail_privileged_anywhere if {
	document := patched(context({"privileged": true}))
	report == {{
		"object": 0,
		"path": array.concat(pod_template, ["spec", "containers", 0, "securityContext", "privileged"]),
		"message": "container node is privileged: what a pod may do on its node is the runtime's to say",
		"severity": "error",
	}} with input as document
	report != set() with input as json.patch(document, [{"op": "replace", "path": "/cluster", "value": null}])
}

test_fail_the_root_of_the_node if {
	every path in ["/", "//", "/.", "/etc", "/var/lib/", "//etc/kubernetes/pki", "/var/run/docker.sock", "/data/../etc"] {
		severities(patched(mounting(path))) == {["error", "path"]}
	}
}

test_fail_a_folder_of_data_is_a_warning_as_long_as_nobody_decided if {
	severities(patched(mounting("/data/birds"))) == {["warning", "path"]}
	severities(decided(mounting("/data/birds"), {})) == {["error", "path"]}
}

test_fail_beside_an_allowed_folder if {
	every path in ["/data/birdsong", "/data", "/data/birds/../../etc"] {
		severities(decided(mounting(path), {"hostPaths": ["/data/birds"]})) == {["error", "path"]}
	}
}

test_success_in_an_allowed_folder if {
	every path in ["/data/birds", "/data/birds/", "/data/birds/2024"] {
		severities(decided(mounting(path), {"hostPaths": ["/data/birds"]})) == set()
	}
}

test_fail_volumes_that_run_programs_of_the_node if {
	severities(patched(spec({"volumes": [{"name": "a", "flexVolume": {"driver": "x"}}, {"name": "b", "gitRepo": {"repository": "x"}}]}))) == {["error", "flexVolume"], ["error", "gitRepo"]}
}

account(name) := spec({"serviceAccountName": name})

test_fail_service_account if {
	severities(patched(account("deployer"))) == {["warning", "serviceAccountName"]}
	severities(decided(account("deployer"), {"serviceAccounts": ["reader"]})) == {["error", "serviceAccountName"]}
}

test_fail_service_account_of_an_administrator if {
	document := json.patch(patched(account("deployer")), [{"op": "add", "path": "/objects/-", "value": {
		"apiVersion": "rbac.authorization.k8s.io/v1",
		"kind": "RoleBinding",
		"metadata": {"name": "all", "namespace": "team"},
		"roleRef": {"kind": "ClusterRole", "name": "admin"},
		"subjects": [{"kind": "ServiceAccount", "name": "deployer", "namespace": "team"}],
	}}])
	errors(document) == {"the run names the ServiceAccount deployer: a binding of this cluster makes it an administrator"}
	errors(json.patch(document, [{"op": "add", "path": "/cluster/runs", "value": {"serviceAccounts": ["deployer"]}}])) == set()
}

test_success_service_account if {
	severities(decided(account("reader"), {"serviceAccounts": ["reader"]})) == set()
	severities(decided(account("default"), {})) == set()
}

adding(capability) := context({"capabilities": {"add": [capability]}})

fabric := [{"op": "add", "path": "/cluster/network/infiniband", "value": {"resource": "nvidia.com/hostdev", "perPod": 2, "attachment": "team/fabric"}}]

test_fail_capabilities if {
	every capability in ["SYS_ADMIN", "CAP_SYS_ADMIN", "ALL"] {
		severities(patched(adding(capability))) == {["error", "add"]}
	}
	severities(patched(adding("SYS_NICE"))) == {["warning", "add"]}
	severities(decided(adding("IPC_LOCK"), {})) == {["error", "add"]}
	severities(json.patch(decided(adding("IPC_LOCK"), {"capabilities": []}), fabric)) == {["error", "add"]}
}

test_success_capabilities if {
	severities(json.patch(decided(adding("IPC_LOCK"), {}), fabric)) == set()
	severities(decided(adding("SYS_NICE"), {"capabilities": ["SYS_NICE"]})) == set()
	severities(json.patch(patched(adding("IPC_LOCK")), [{"op": "replace", "path": "/cluster", "value": null}])) == set()
}

test_fail_settings_of_pods_and_init_containers if {
	severities(decided(spec({"securityContext": {"seccompProfile": {"type": "Unconfined"}, "seLinuxOptions": {"type": "spc_t"}}}), {})) == {["error", "type"], ["error", "seLinuxOptions"]}
	severities(patched(spec({"initContainers": [{"name": "prepare", "securityContext": {"windowsOptions": {"hostProcess": true}}}]}))) == {["error", "hostProcess"]}
	severities(patched(context({"allowPrivilegeEscalation": true}))) == {["warning", "allowPrivilegeEscalation"]}
}

attached(networks) := {"metadata": {"annotations": {"k8s.v1.cni.cncf.io/networks": networks}}}

test_fail_network if {
	severities(decided(attached("storage"), {})) == {["error", "k8s.v1.cni.cncf.io/networks"]}
	severities(json.patch(decided(attached("team/fabric,storage"), {}), fabric)) == {["error", "k8s.v1.cni.cncf.io/networks"]}
}

test_success_network if {
	severities(json.patch(decided(attached("team/fabric, team/fabric"), {}), fabric)) == set()
	severities(patched(attached("storage"))) == set()
}

test_fail_before_trainer_2_2 if {
	document := fixture.with_trainjob(fixture.trainjob, "spec/podTemplateOverrides", [object.union(mounting("/"), {"targetJobs": [{"name": "node"}]})])
	report == {{
		"object": 0,
		"path": ["spec", "podTemplateOverrides", 0, "spec", "volumes", 0, "hostPath", "path"],
		"message": "the run mounts / of the node: its pods read and write there beside the node's own programs and every other pod",
		"severity": "error",
		"fix": "Leave it out of the TrainJob; what every run of this kind needs belongs in the runtime, what some may bring under runs.hostPaths in cluster.yaml.",
	}} with input as document
}

test_success_what_runs_bring if {
	report == set() with input as decided(
		{
			"metadata": {"labels": {"team": "birds"}},
			"spec": {
				"tolerations": [{"operator": "Exists"}],
				"nodeSelector": {"pool": "gpu"},
				"securityContext": {"runAsUser": 1000, "fsGroup": 1000},
				"imagePullSecrets": [{"name": "registry"}],
				"volumes": [
					{"name": "code", "configMap": {"name": "code"}},
					{"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
					{"name": "shm", "emptyDir": {"medium": "Memory"}},
					{"name": "more", "nfs": {"server": "nfs.example", "path": "/data"}},
				],
				"containers": [{"name": "node", "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}],
			},
		},
		{},
	)
}

test_success_the_runtime_may if {
	report == set() with input as fixture.with_pod(fixture.trainjob, "volumes", [{"name": "node", "hostPath": {"path": "/"}}])
}
