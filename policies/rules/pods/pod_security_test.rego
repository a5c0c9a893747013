package rules_test.pods.pod_security

import data.rules.pods.pod_security.report
import data.rules_test.fixture

# The fixture's run in a namespace of this level, its pod spec with these fields.
judged(level, fields) := found if {
	document := json.patch(fixture.trainjob, array.concat(
		[{"op": "add", "path": "/objects/2/metadata/labels", "value": {"pod-security.kubernetes.io/enforce": level}}],
		[{"op": "add", "path": concat("/", ["/workloads/0/jobset/spec/replicatedJobs/0/template/spec/template/spec", key]), "value": value} |
			some key, value in fields
		],
	))
	found := {finding.message | some finding in report with input as document}
}

hardened := {"containers": [{
	"name": "node",
	"image": "registry.example/tensorflow:2.15",
	"securityContext": {
		"allowPrivilegeEscalation": false,
		"runAsNonRoot": true,
		"capabilities": {"drop": ["ALL"]},
		"seccompProfile": {"type": "RuntimeDefault"},
	},
}]}

test_fail_host_path_under_baseline if {
	judged("baseline", {"volumes": [{"name": "data", "hostPath": {"path": "/data"}}]}) == {"volume data is a hostPath, and namespace team enforces baseline: no pod can be made"}
}

test_fail_ipc_lock_under_baseline if {
	judged("baseline", {"containers": [{"name": "node", "securityContext": {"capabilities": {"add": ["IPC_LOCK", "CHOWN"]}}}]}) == {"container node adds the capability IPC_LOCK, and namespace team enforces baseline: no pod can be made"}
}

test_fail_host_network_and_privileged if {
	judged("baseline", {"hostNetwork": true, "containers": [{"name": "node", "securityContext": {"privileged": true}}]}) == {
		"hostNetwork is true, and namespace team enforces baseline: no pod can be made",
		"container node is privileged, and namespace team enforces baseline: no pod can be made",
	}
}

test_fail_nothing_said_under_restricted if {
	judged("restricted", {"containers": [{"name": "node"}]}) == {sprintf("%s, and namespace team enforces restricted: no pod can be made", [what]) |
		some what in [
			"allowPrivilegeEscalation of container node is not false",
			"container node does not drop ALL capabilities",
			"container node may run as root",
			"container node has no seccomp profile",
		]
	}
}

test_fail_user_0_under_restricted if {
	judged("restricted", object.union(hardened, {"securityContext": {"runAsUser": 0}})) == {"container node runs as user 0, and namespace team enforces restricted: no pod can be made"}
}

test_fail_host_port_under_baseline if {
	judged("baseline", {"containers": [{"name": "node", "ports": [{"containerPort": 12345, "hostPort": 12345}]}]}) == {"container node takes the port 12345 of its node, and namespace team enforces baseline: no pod can be made"}
}

test_fail_nfs_under_restricted if {
	document := object.union(hardened, {"volumes": [{"name": "data", "nfs": {"server": "files", "path": "/"}}]})
	judged("restricted", document) == {"volume data is of the type nfs, and namespace team enforces restricted: no pod can be made"}
	judged("baseline", document) == set()
}

test_success_root_in_a_user_namespace if {
	judged("restricted", {"hostUsers": false, "containers": [{"name": "node", "securityContext": {
		"allowPrivilegeEscalation": false,
		"runAsUser": 0,
		"capabilities": {"drop": ["ALL"]},
		"seccompProfile": {"type": "RuntimeDefault"},
	}}]}) == set()
}

test_success_container_port if judged("baseline", {"containers": [{"name": "node", "ports": [{"containerPort": 12345}]}]}) == set()

test_success_hardened_under_restricted if judged("restricted", hardened) == set()

test_success_the_pod_s_setting_counts_for_its_containers if {
	judged("restricted", {
		"securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
		"containers": [{"name": "node", "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}],
	}) == set()
}

test_success_privileged_namespace if {
	judged("privileged", {"hostNetwork": true, "containers": [{"name": "node", "securityContext": {"privileged": true}}]}) == set()
}

test_success_no_label if {
	report == set() with input as fixture.trainjob
}
