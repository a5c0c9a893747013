package rules_test.run.checkpoints_kept

import data.rules.run.checkpoints_kept.report
import data.rules_test.fixture

env(folder) := [{"name": "CHECKPOINT_DIR", "value": folder}]

# The fixture's run with a folder for its checkpoints, and one volume that its container mounts at /kept.
saving(document, folder, source) := mounting(document, env(folder), object.union({"name": "kept"}, source), {"name": "kept", "mountPath": "/kept/"})

mounting(document, variables, volume, mount) := fixture.with_container(
	fixture.with_container(fixture.with_pod(document, "volumes", [volume]), "env", variables),
	"volumeMounts", [mount],
)

claim := {"persistentVolumeClaim": {"claimName": "birds"}}

with_claim(document, spec) := json.patch(document, [
	{"op": "add", "path": "/objects/-", "value": {
		"apiVersion": "v1",
		"kind": "PersistentVolumeClaim",
		"metadata": {"name": "birds", "namespace": "team"},
		"spec": spec,
	}},
	{"op": "add", "path": "/members/-", "value": true},
])

anew := "each restart of TrainJob run-1 (maxRestarts 3) trains from the beginning"

gone(folder) := sprintf("checkpoints go to %s, where no volume is mounted: they are gone with the pod, and %s", [folder, anew])

own(what) := sprintf("checkpoints go to /kept/run on the volume kept, %s that each pod has for itself: they are gone with the pod, and %s", [what, anew])

test_fail_no_volume if {
	every folder in ["/tmp/run", "/keptrun", "/"] {
		report == {fixture.in_workload(fixture.container_path(["env", 0, "value"]), gone(folder))} with input as saving(fixture.trainjob, folder, claim)
	}
}

test_fail_volume_of_the_pod if {
	every kind, what in {"emptyDir": "an emptyDir", "ephemeral": "an ephemeral volume"} {
		found := {fixture.in_workload(fixture.pod_path(["volumes", 0, kind]), own(what))}
		report == found with input as saving(fixture.trainjob, "/kept/run", {kind: {}})
	}
}

# One that may carry them away.
test_fail_second_container if {
	second := {"name": "keeper", "volumeMounts": [{"name": "kept", "mountPath": "/from"}]}
	found := {object.union(fixture.in_workload(fixture.pod_path(["volumes", 0, "emptyDir"]), own("an emptyDir")), {"severity": "warning"})}
	report == found with input as fixture.with_pod(saving(fixture.trainjob, "/kept/run", {"emptyDir": {}}), "initContainers", [second])
}

none_written := "checkpoints go to /kept/run on the volume kept, which is mounted readOnly: none can be written"

test_fail_read_only_mount if {
	found := {fixture.in_workload(fixture.container_path(["volumeMounts", 0, "readOnly"]), none_written)}
	report == found with input as mounting(fixture.trainjob, env("/kept/run"), object.union({"name": "kept"}, claim), {"name": "kept", "mountPath": "/kept", "readOnly": true})
}

test_fail_read_only_volume if {
	found := {fixture.in_workload(fixture.pod_path(["volumes", 0, "persistentVolumeClaim", "readOnly"]), none_written)}
	report == found with input as saving(fixture.trainjob, "/kept/run", {"persistentVolumeClaim": {"claimName": "birds", "readOnly": true}})
}

read_only_claim := fixture.at(3, ["spec", "accessModes"], "checkpoints go to /kept/run on the claim birds, which is ReadOnlyMany: a volume that its driver gives for reading")

test_fail_read_only_claim if {
	report == {read_only_claim} with input as with_claim(saving(fixture.trainjob, "/kept/run", claim), {"accessModes": ["ReadOnlyMany"]})
}

test_fail_read_only_claim_of_a_given_volume if {
	report == {object.union(read_only_claim, {"severity": "warning"})} with input as with_claim(saving(fixture.trainjob, "/kept/run", claim), {"accessModes": ["ReadOnlyMany"], "volumeName": "nfs"})
}

# --- folders that the code names ---

code(files) := json.patch(
	mounting(
		fixture.with_container(fixture.trainjob, "command", ["python3", "/code/tfrun.py", "--", "python3", "/code/train.py"]),
		[],
		{"name": "code", "configMap": {"name": "code"}},
		{"name": "code", "mountPath": "/code"},
	),
	[
		{"op": "add", "path": "/objects/-", "value": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "code", "namespace": "team"}, "data": files}},
		{"op": "add", "path": "/members/-", "value": true},
	],
)

config := {"train.py": "import config\n", "config.py": "import os\nCHECKPOINTS = \"/workspace/checkpoints\"\n"}

test_fail_default_of_the_training if {
	report == {fixture.in_workload(fixture.container_path(["volumeMounts"]), gone("/workspace/checkpoints/run-1"))} with input as code(config)
}

test_success_default_is_set if {
	every variables in [env("relative"), [{"name": "CHECKPOINT_DIR", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]] {
		report == set() with input as fixture.with_container(code(config), "env", variables)
	}
	report == set() with input as fixture.with_container(code(config), "envFrom", [{"configMapRef": {"name": "of-elsewhere"}}])
}

test_success_another_script_is_started if {
	report == set() with input as fixture.with_container(code(config), "command", ["python3", "/code/own.py"])
}

test_fail_folder_of_a_script if {
	every text in [
		`callbacks = [tf.keras.callbacks.BackupAndRestore("/tmp/run")]`,
		"keep = BackupAndRestore(\n    backup_dir='/tmp/run',\n    save_freq=5)",
		`manager = tf.train.CheckpointManager(checkpoint, "/tmp/run", max_to_keep=2)`,
		`manager = tf.train.CheckpointManager(checkpoint, directory="/tmp/run")`,
	] {
		report == {fixture.at(3, ["data", "own.py"], gone("/tmp/run"))} with input as code({"own.py": text})
	}
}

test_success_folder_that_is_not_known if {
	every text in [
		`# BackupAndRestore("/tmp/run")`,
		`BackupAndRestore(f"/tmp/{name}")`,
		`BackupAndRestore("/tmp/%s" % name)`,
		`BackupAndRestore("/tmp/run" + name)`,
		`BackupAndRestore("gs://birds/run")`,
		`BackupAndRestore("backup")`,
		`CheckpointManager(checkpoint, folder)`,
		`print("BackupAndRestore('/tmp/run')")`,
	] {
		report == set() with input as code({"own.py": text})
	}
}

# --- right ---

test_success_claim if {
	report == set() with input as saving(fixture.trainjob, "/kept/run", claim)
	report == set() with input as with_claim(saving(fixture.trainjob, "/kept/run", claim), {"accessModes": ["ReadOnlyMany", "ReadWriteMany"]})
}

test_fail_beside_the_claim if {
	volumes := [{"name": "scratch", "emptyDir": {}}, object.union({"name": "kept"}, claim)]
	mounts := [{"name": "scratch", "mountPath": "/work"}, {"name": "kept", "mountPath": "/work/kept"}]
	document := fixture.with_container(fixture.with_pod(fixture.trainjob, "volumes", volumes), "volumeMounts", mounts)
	report == set() with input as fixture.with_container(document, "env", env("/work/kept/run"))
	message := sprintf("checkpoints go to /work/run on the volume scratch, an emptyDir that each pod has for itself: they are gone with the pod, and %s", [anew])
	report == {fixture.in_workload(fixture.container_path(["env", 0, "value"]), message)} with input as fixture.with_container(document, "env", env("/work/run"))
}

# What is there may be a file system of all nodes.
test_success_folder_of_the_node if report == set() with input as saving(fixture.trainjob, "/kept/run", {"hostPath": {"path": "/mnt/nfs"}})

test_success_no_restart if {
	every policy in [{}, {"maxRestarts": 0}] {
		report == set() with input as fixture.with_spec(saving(fixture.trainjob, "/tmp/run", claim), "failurePolicy", policy)
	}
}

test_success_in_place if {
	in_place := fixture.with_job(saving(fixture.trainjob, "/kept/run", {"emptyDir": {}}), "backoffLimit", 2147483647)
	report == set() with input as fixture.with_spec(in_place, "failurePolicy", {"maxRestarts": 3, "restartStrategy": "InPlaceRestart"})
}

test_success_elsewhere if {
	every folder in ["gs://birds/run", "s3://birds/run", "run", "$(HOME)/run", "/kept/../tmp"] {
		report == set() with input as saving(fixture.trainjob, folder, {"emptyDir": {}})
	}
}

test_success_one_worker if report == set() with input as saving(fixture.single, "/tmp/run", claim)

test_success_another_framework if report == set() with input as saving(fixture.torch, "/tmp/run", claim)

test_success_container_of_a_patch_alone if {
	report == set() with input as fixture.with_container(saving(fixture.trainjob, "/tmp/run", claim), "image", null)
}

# A TrainJob may bring the volume, or say another folder.
test_success_unused_runtime if report == set() with input as saving(fixture.runtime, "/tmp/run", claim)
