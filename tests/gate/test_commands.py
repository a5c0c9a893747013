"""What commands of containers start as Python is judged as a script, wherever it stands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gate import check
from gate.evaluate import Evaluator

SCRIPT = "import tensorflow as tf\ntf.constant(1)\nstrategy = tf.distribute.MultiWorkerMirroredStrategy()\n"
MOUNT = {"name": "code", "mountPath": "/code"}

# The command, what is mounted of a ConfigMap whose key `train` is the script, and which line of the manifest is named.
STARTED = {
    "the script itself": (["python3", "-c", SCRIPT], {}, "command"),
    "with flags": (["/usr/bin/python3.11", "-Bu", "-W", "ignore", "-uc", SCRIPT], {}, "command"),
    "by another program": (["python3", "/opt/tfrun.py", "--", "python3", "-c", SCRIPT], {}, "command"),
    "a file": (["python3", "-u", "/code/train", "--epochs", "3"], {"mounts": [MOUNT]}, "train"),
    "a file of the working directory": (["python", "train"], {"mounts": [MOUNT], "workingDir": "/code"}, "train"),
    "a file of another name": (["python3", "/code/run"], {"mounts": [MOUNT], "items": [{"key": "train", "path": "run"}]}, "train"),
    "a file alone": (["python3", "/opt/run"], {"mounts": [{**MOUNT, "mountPath": "/opt/run", "subPath": "train"}]}, "train"),
}
LEFT = {
    "another program": (["bash", "-c", SCRIPT], {}),
    "an argument": (["python3", "/opt/run.py", "-c", SCRIPT], {}),
    "a module": (["python3", "-m", "run", "/code/train"], {"mounts": [MOUNT]}),
    "with variables of the pod": (["python3", "-c", f"{SCRIPT}print('$(NAME)')"], {}),
    "a file that is not mounted": (["python3", "/code/train"], {}),
    "a file of another folder": (["python3", "/codes/train"], {"mounts": [MOUNT]}),
    "a file that another key is": (["python3", "/code/train"], {"mounts": [MOUNT], "items": [{"key": "other", "path": "train"}]}),
    "an argument of a script": (["python3", "/opt/run.py", "/code/train"], {"mounts": [MOUNT]}),
    "no command": ([], {"mounts": [MOUNT]}),
}


def manifests(folder: Path, command: list[str], given: dict[str, object]) -> Path:
    """A ConfigMap and a JobSet of one pod, each field in a line of its own."""
    container = {"name": "node", "image": "registry.example/run:1", "command": command, "volumeMounts": given.get("mounts", [])}
    container |= {key: value for key, value in given.items() if key == "workingDir"}
    volume = {"name": "code", "configMap": {"name": "code", "items": given.get("items", [])}}
    pod = {"restartPolicy": "Never", "containers": [container], "volumes": [volume]}
    job = {"name": "node", "template": {"spec": {"backoffLimit": 0, "template": {"spec": pod}}}}
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "code", "namespace": "birds"}}
    code = {**head, "data": {"train": SCRIPT, "other": "x"}}
    jobset = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": head["metadata"], "spec": {"replicatedJobs": [job]}}
    file = folder / "run.yaml"
    file.write_text(f"{json.dumps(code, indent=1)}\n---\n{json.dumps(jobset, indent=1)}\n", encoding="utf-8")
    return file


def lines(file: Path, opa: Evaluator) -> list[int]:
    outcome = check.check(file.parent, check.targets(file.parent, [file], None), evaluator=opa)
    assert outcome.problems == []
    return [finding.place.line for finding in outcome.findings if finding.rule == "script/strategy-first"]


@pytest.mark.parametrize("name", STARTED)
def test_what_is_started_as_python_is_judged(name: str, tmp_path: Path, opa: Evaluator) -> None:
    command, given, field = STARTED[name]
    file = manifests(tmp_path, command, given)
    (found,) = lines(file, opa)
    written = file.read_text(encoding="utf-8").splitlines()
    assert "MultiWorkerMirroredStrategy" in written[found - 1]
    assert ('"train":' in written[found - 1]) == (field == "train")


@pytest.mark.parametrize("name", LEFT)
def test_what_is_not_certainly_started_is_left(name: str, tmp_path: Path, opa: Evaluator) -> None:
    assert lines(manifests(tmp_path, *LEFT[name]), opa) == []


def test_one_script_of_several_runs_is_judged_once(tmp_path: Path, opa: Evaluator) -> None:
    file = manifests(tmp_path, ["python3", "/code/train"], {"mounts": [MOUNT]})
    code, jobset = file.read_text(encoding="utf-8").split("\n---\n")
    second = jobset.replace('"name": "code",\n  "namespace"', '"name": "second",\n  "namespace"')
    assert second != jobset
    file.write_text(f"{code}\n---\n{jobset}\n---\n{second}", encoding="utf-8")
    assert len(lines(file, opa)) == 1
