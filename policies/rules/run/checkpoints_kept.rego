# METADATA
# title: What a gang saves outlasts its restarts
# description: |
#   With failurePolicy.maxRestarts JobSet makes all pods of a gang anew, and they go on at the last checkpoint if they
#   find it: on a volume that all workers mount and that stays. In the container's own files or an emptyDir it is gone with
#   the pod, each restart trains from the beginning, and a run that is restarted often enough never ends; a read-only
#   mount takes no checkpoint at all. Judged are CHECKPOINT_DIR, the default of training/config.py and paths that a script in a
#   ConfigMap of the pod gives BackupAndRestore or CheckpointManager.
# related_resources:
# - ref: https://www.tensorflow.org/guide/migrate/fault_tolerance
# - ref: https://kubernetes.io/docs/concepts/storage/volumes/#emptydir
# custom:
#   seen:
#   - "lab: tests/lab/test_checkpoints.py::test_what_goes_with_the_pod_is_saved_in_vain"
#   - "lab: tests/lab/test_checkpoints.py::test_on_a_claim_a_restarted_gang_goes_on_where_it_saved"
#   - "lab: tests/lab/test_checkpoints.py::test_on_a_mount_that_is_only_read_nothing_can_be_saved"
#   - "lab: tests/lab/test_training.py::test_a_killed_worker_restarts_the_gang_which_goes_on_at_the_checkpoint"
#   - "source: kubernetes pkg/volume/emptydir/empty_dir.go"
#   - "source: jobset pkg/controllers/failure_policy.go"
#   severity: error
#   fix: "Keep checkpoints below the mount of a persistentVolumeClaim that all workers may write (accessModes: [ReadWriteMany]), as base/components/checkpoints does."
#   example: |
#     containers:
#     - name: node
#       env: [{name: CHECKPOINT_DIR, value: /scratch/run}]
#       volumeMounts: [{name: scratch, mountPath: /scratch}]
#     volumes: [{name: scratch, emptyDir: {}}]  # and failurePolicy: {maxRestarts: 3}
package rules.run.checkpoints_kept

import data.lib
import data.lib.claims
import data.lib.environment

# Nothing is mounted there.
report contains environment.finding(f.g, f, message) if {
	some f in folders
	not mounted(f)
	message := sprintf("checkpoints go to %s, where no volume is mounted: they are gone with the pod, and %s", [f.value, what_follows(f.g)])
}

# A volume that each pod has for itself. Where a claim is mounted as well it is the folder that is wrong.
report contains object.union(place, severity(f)) if {
	some f in folders
	some kind in ["emptyDir", "ephemeral"]
	some n, volume in lib.pod_spec(f.g).volumes
	volume.name == mounted(f).mount.name
	volume[kind]
	not lib.restarts_in_place(f.g.workload)
	message := sprintf("checkpoints go to %s on the volume %s, %s that each pod has for itself: they are gone with the pod, and %s", [
		f.value,
		volume.name,
		{"emptyDir": "an emptyDir", "ephemeral": "an ephemeral volume"}[kind],
		what_follows(f.g),
	])
	place := {
		true: environment.finding(f.g, f, message),
		false: lib.in_workload(f.g.workload, lib.pod_path(f.g, ["volumes", n, kind]), message),
	}[has_claim(f)]
}

report contains lib.in_workload(f.g.workload, path, message) if {
	some f in folders
	some path in read_only(f)
	message := sprintf("checkpoints go to %s on the volume %s, which is mounted readOnly: none can be written", [f.value, mounted(f).mount.name])
}

# Kubernetes itself keeps nobody from writing: the mode is for the driver, which may mount read-only or refuse to make such a
# volume. One that is there already may be mounted as it likes.
report contains object.union(claims.finding(f.g.workload, claim, message), certainty(claim)) if {
	some f in folders
	some claim in claims.of(f.g)
	claim.volume == mounted(f).mount.name
	claims.only(claim, "ReadOnlyMany")
	message := sprintf("checkpoints go to %s on the claim %s, which is ReadOnlyMany: a volume that its driver gives for reading", [f.value, claim.name])
}

what_follows(g) := sprintf("each restart of %s %s (maxRestarts %d) trains from the beginning", [
	g.workload.kind,
	g.workload.name,
	g.workload.jobset.spec.failurePolicy.maxRestarts,
])

has_claim(f) := count([volume |
	some volume in lib.pod_spec(f.g).volumes
	volume.persistentVolumeClaim
	some mount in lib.containers(f.g)[f.i].volumeMounts
	mount.name == volume.name
]) > 0

# Another container may keep elsewhere what is in the pod's volume.
severity(f) := {"severity": "warning"} if count(users(f)) > 1

severity(f) := {} if count(users(f)) == 1

users(f) := {c.rest |
	some c in lib.pod_containers(f.g)
	some mount in c.container.volumeMounts
	mount.name == mounted(f).mount.name
}

certainty(claim) := {} if claims.provisioned(claim)

certainty(claim) := {"severity": "warning"} if not claims.provisioned(claim)

read_only(f) := {array.concat(mounted(f).path, ["readOnly"]) | mounted(f).mount.readOnly} | {path |
	some n, volume in lib.pod_spec(f.g).volumes
	volume.name == mounted(f).mount.name
	volume.persistentVolumeClaim.readOnly
	path := lib.pod_path(f.g, ["volumes", n, "persistentVolumeClaim", "readOnly"])
}

# --- where checkpoints go ---------------------------------------------------------------------------------------

# As lib.environment has variables, with their pod template and container: absolute paths of runs that are restarted.
folders contains object.union(variable, {"g": g, "i": i}) if {
	some g, i in restarted
	variable := environment.variable(g, i, "CHECKPOINT_DIR")
	absolute(variable.value)
}

folders contains {"value": sprintf("%s/%s", [found[0][1], g.workload.name]), "object": null, "path": path, "g": g, "i": i} if {
	some g, i in restarted
	not lib.env(lib.containers(g)[i], "CHECKPOINT_DIR")
	not environment.variable(g, i, "CHECKPOINT_DIR")
	count(object.get(lib.containers(g)[i], "envFrom", [])) == 0
	some code in scripts(g, i)
	code.key == "config.py"
	some word in words(lib.containers(g)[i])
	word == sprintf("%s/train.py", [code.folder])
	found := regex.find_all_string_submatch_n(`(?m)^CHECKPOINTS = "(/[^"]+)"`, code.text, 1)
	path := lib.container_path(g, i, ["volumeMounts"])
}

folders contains {"value": match[1], "object": code.object, "path": ["data", code.key], "g": g, "i": i} if {
	some g, i in restarted
	some code in scripts(g, i)
	some match in regex.find_all_string_submatch_n(_keeps, code.text, -1)
	absolute(match[1])
}

_keeps := `(?m)^[^#\n"']*\b(?:BackupAndRestore\(\s*(?:backup_dir\s*=\s*)?|CheckpointManager\([^()"',]+,\s*(?:directory\s*=\s*)?)["'](/[^"'\n{}%]+)["']\s*[,)]`

absolute(path) if {
	startswith(path, "/")
	not contains(path, "..")
}

restarted := {g: i |
	some g in lib.gangs
	not endswith(g.workload.kind, "TrainingRuntime")
	g.workload.jobset.spec.failurePolicy.maxRestarts > 0
	i := lib.trainer_container(g)
	lib.containers(g)[i].image # else a patch made it up: trainer/runtime-patches
}

words(container) := array.concat(object.get(container, "command", []), object.get(container, "args", []))

# The files of ConfigMaps that a container mounts as folders.
scripts(g, i) := {{"key": key, "text": text, "object": n, "folder": trim_suffix(mount.mountPath, "/")} |
	some mount in lib.containers(g)[i].volumeMounts
	some volume in lib.pod_spec(g).volumes
	volume.name == mount.name
	some n, manifest in lib.objects_named("", "ConfigMap", volume.configMap.name)
	object.get(manifest.metadata, "namespace", "") == g.workload.namespace
	some key, text in manifest.data
	endswith(key, ".py")
}

# The innermost mount of the container that a folder lies in.
mounted(f) := {"mount": mount, "path": lib.container_path(f.g, f.i, ["volumeMounts", n])} if {
	depths := [[count(at), n] |
		some n, mount in lib.containers(f.g)[f.i].volumeMounts
		at := trim_suffix(mount.mountPath, "/")
		startswith(sprintf("%s/", [f.value]), sprintf("%s/", [at]))
	]
	count(depths) > 0
	n := max(depths)[1]
	mount := lib.containers(f.g)[f.i].volumeMounts[n]
}
