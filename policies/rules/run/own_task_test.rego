package rules_test.run.own_task

import data.rules.run.own_task.report
import data.rules_test.fixture

place(index) := sprintf(`{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": %d}}`, [index])

given(document, value) := fixture.with_container(document, "env", [{"name": "EPOCHS", "value": "1"}, {"name": "TF_CONFIG", "value": value}])

by(document, command) := fixture.with_container(document, "command", command)

path := fixture.container_path(["env", 1, "value"])

alike := fixture.in_workload(path, "TF_CONFIG says task 1 to each of the 2 workers: all take themselves for the same one")

replaced := object.union(
	fixture.in_workload(path, "TF_CONFIG is replaced: tfrun gives each worker its own"),
	{"severity": "warning", "fix": "Leave TF_CONFIG out."},
)

test_fail_one_task_for_all if {
	every document in [fixture.trainjob, fixture.runtime] {
		report == {alike} with input as by(given(document, place(1)), ["python3", "/opt/app/train.py"])
	}
}

test_fail_replaced if {
	every command in [["tfrun", "python3", "train.py"], ["python3", "/opt/tfrun/tfrun.py", "--", "python3", "train.py"]] {
		report == {replaced} with input as by(given(fixture.trainjob, place(1)), command)
	}
}

test_fail_replaced_for_one_worker if {
	report == {replaced} with input as by(given(fixture.single, place(0)), ["tfrun", "python3", "train.py"])
}

# A Job of one pod is a task of its own.
test_success_leader if {
	report == set() with input as by(given(fixture.jobset, place(0)), ["python3", "lead.py"])
}

test_success_one_worker if {
	report == set() with input as given(fixture.single, place(0))
}

test_success_no_task if {
	every value in ["", "{}", `{"cluster": {"worker": ["a:1", "b:1"]}}`, "no JSON", `{"task": {"index": $(INDEX)}}`] {
		report == set() with input as given(fixture.trainjob, value)
	}
}

test_success_command_makes_it if {
	command := ["sh", "-c", `TF_CONFIG=$(echo "$TF_CONFIG" | sed "s/index\": 1/index\": $JOB_COMPLETION_INDEX/") python3 train.py`]
	report == set() with input as by(given(fixture.trainjob, place(1)), command)
}

test_success_script_makes_it if {
	script := {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "code", "namespace": "team"}, "data": {"train.py": `os.environ["TF_CONFIG"] = mine`}}
	document := json.patch(given(fixture.trainjob, place(1)), [{"op": "add", "path": "/objects/-", "value": script}])
	report == set() with input as fixture.with_pod(document, "volumes", [{"name": "code", "configMap": {"name": "code"}}])
	report == {alike} with input as fixture.with_pod(document, "volumes", [{"name": "code", "configMap": {"name": "other"}}])
}
